"""`forecast-backfill kill`: nothing that began can commit, and Dagster starts none of it."""

from __future__ import annotations

from collections.abc import Mapping

import click

from forecast_backfill.app.stop_campaigns import Stopped, stop_campaigns
from forecast_backfill.cli.turning import json_option, reason_option, say, user
from forecast_backfill.core.errors import DagsterUnreachable
from forecast_backfill.core.states import Workload
from forecast_backfill.dagster_defs.graphql_client import DagsterClient
from forecast_backfill.dagster_defs.tags import BACKFILL_ID_TAG, WORKLOAD_TAG
from forecast_backfill.settings import load_settings
from forecast_backfill.warehouse.control import read_knobs
from forecast_backfill.warehouse.kill import Killed, close_killed, kill, reopen
from forecast_backfill.warehouse.leases import list_flights
from forecast_backfill.wiring.partition import open_session


@click.command("kill")
@reason_option
@click.option(
    "--campaign",
    "campaign_id",
    help="Cancel only this Dagster backfill. Runs of others that are under way end too; what they "
    "have queued goes on.",
)
@json_option
def command(reason: str, campaign_id: str | None, as_json: bool) -> int:
    """End backfill at once: after this nothing that began before can commit.

    That holds by the database alone, also for workers that hang. Then Dagster's backfills and runs
    are cancelled; where it cannot be reached, backfill stays paused and the exit code is 1.
    """
    settings = load_settings()
    with open_session(settings, Workload.BACKFILL) as session:
        was_paused = read_knobs(session, Workload.BACKFILL).intent == "paused"
        killed = kill(session, Workload.BACKFILL, reason=reason, changed_by=user(), pauses=True)
        if not as_json:
            click.echo(f"epoch {killed.knobs.epoch}: nothing that began can commit", err=True)
        stopped = _stop_dagster(DagsterClient(settings.dagster_url), campaign_id)
        close_killed(session, killed.knobs, Workload.BACKFILL)
        flights = len(list_flights(session, Workload.BACKFILL))
        is_clean = isinstance(stopped, Stopped) and stopped.left == 0
        reopened = None
        if is_clean and not was_paused:
            reopened = reopen(
                session,
                Workload.BACKFILL,
                killed.knobs,
                reason=f"Dagster has cancelled what was killed: {reason}",
                changed_by=user(),
            )
        is_paused = reopened is None and read_knobs(session, Workload.BACKFILL).intent == "paused"
    fields: dict[str, object] = {
        "workload": Workload.BACKFILL.value,
        "epoch": killed.knobs.epoch,
        "ended_commits": killed.ended_commits,
        "ended_slot_holders": killed.ended_holders,
        "unended_sessions": [each.as_text for each in killed.unended],
        "in_flight": flights,
        "is_paused": is_paused,
        **_stopped_fields(stopped),
    }
    say(_lines(killed, stopped, flights, is_paused=is_paused), fields, as_json=as_json)
    return 0 if is_clean and flights == 0 else 1


def _stop_dagster(client: DagsterClient, campaign_id: str | None) -> Stopped | DagsterUnreachable:
    def is_meant(backfill_id: str, tags: Mapping[str, str]) -> bool:
        if campaign_id is not None:
            return backfill_id == campaign_id
        return tags.get(WORKLOAD_TAG) != Workload.NIGHTLY.value

    ours = {WORKLOAD_TAG: Workload.BACKFILL.value}
    tags = ours if campaign_id is None else {BACKFILL_ID_TAG: campaign_id}
    try:
        return stop_campaigns(client, is_meant=is_meant, tags=tags)
    except DagsterUnreachable as error:
        return error


def _lines(
    killed: Killed, stopped: Stopped | DagsterUnreachable, flights: int, *, is_paused: bool
) -> list[str]:
    held = "1 slot is" if flights == 1 else f"{flights} slots are"
    lines = [f"backfill was killed; {held} held"]
    ended = killed.ended_commits + killed.ended_holders
    if ended:
        lines.append(f"  {ended} workers did not let go; their database sessions were ended")
    for each in killed.unended:
        lines += [f"  not ended: {each.as_text}", f"  next: {each.next_command}"]
    if killed.unended:
        lines.append("  until then its slot is taken; it can commit nothing")
    if isinstance(stopped, Stopped):
        names = ", ".join(stopped.campaigns) or "none was active"
        lines.append(f"  Dagster backfills cancelled: {names}; runs cancelled: {stopped.runs}")
        if stopped.left:
            lines.append(f"  {stopped.left} runs could not be cancelled")
    else:
        lines += [f"  Dagster was not reached: {stopped.why}", f"  next: {stopped.next_command}"]
    if not isinstance(stopped, Stopped) or stopped.left:
        lines.append("  until it is, backfill stays paused; then: forecast-backfill kill again")
    if is_paused:
        lines.append('  backfill is paused; to go on: forecast-backfill resume --reason "…"')
    return lines


def _stopped_fields(stopped: Stopped | DagsterUnreachable) -> dict[str, object]:
    if isinstance(stopped, Stopped):
        return {
            "campaigns": list(stopped.campaigns),
            "runs": stopped.runs,
            "runs_left": stopped.left,
            "unreached": None,
        }
    return {"campaigns": [], "runs": 0, "runs_left": None, "unreached": stopped.why}
