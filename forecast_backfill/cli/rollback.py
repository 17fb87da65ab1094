"""`forecast-backfill rollback`: puts back what stood before a campaign, partition by partition."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from uuid import uuid4

import click

from forecast_backfill.app.operate import in_force
from forecast_backfill.app.rollback import roll_back
from forecast_backfill.cli.chosen_range import DATE, refuse_no_dates, regions_of
from forecast_backfill.cli.tell_dagster import print_told, tell_dagster
from forecast_backfill.core.errors import UsageRefused
from forecast_backfill.core.rollback import (
    Left,
    NotRolledBack,
    RollbackOutcome,
    RolledBack,
    reason_of_rollback,
)
from forecast_backfill.core.states import Workload
from forecast_backfill.ports.rollback import KeptPartition
from forecast_backfill.settings import load_settings
from forecast_backfill.warehouse.campaigns import is_under_way
from forecast_backfill.wiring.lakehouse import refuse_in_lakehouse
from forecast_backfill.wiring.process_priority import lower_priority
from forecast_backfill.wiring.rollback import open_rollback

VERB = "rollback --campaign …"
SHOWN = 20


@click.command("rollback")
@click.option("--campaign", "campaign_id", required=True, help="The id of its Dagster backfill.")
@click.option("--from", "start", type=DATE, metavar="YYYY-MM-DD", help="The first date; else all.")
@click.option("--to", "end", type=DATE, metavar="YYYY-MM-DD", help="The date after the last one.")
@click.option("--regions", help="Names by commas; else all.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    campaign_id: str,
    start: datetime | None,
    end: datetime | None,
    regions: str | None,
    as_json: bool,
) -> int:
    """Put back the exact rows and records that stood before a campaign wrote.

    End a campaign that is still under way first (kill). What was written since by nightly or by
    another campaign is left and reported, and the exit code is then 1. A rollback is a task of
    backfill: slots, pause, pace and rate hold for it. Interrupted, it is simply run again. A run
    without a campaign goes by its run id. Dagster's page then shows what stands.
    """
    settings = load_settings()
    refuse_no_dates(start, end, verb=VERB)
    names = None if regions is None else regions_of(regions, settings, verb=VERB)
    refuse_in_lakehouse(
        settings,
        "a rollback",
        next_command="land the earlier files and run: forecast-backfill backfill …; the table's "
        "earlier versions can be read with any Delta engine (docs/spark.md)",
    )
    with open_rollback(settings, run_id=f"rollback-{uuid4()}") as wiring:
        lower_priority(Workload.BACKFILL, settings)
        retry = wiring.ports.retry
        chosen = retry(
            lambda: wiring.ports.rollbacks.list(
                campaign_id,
                start=None if start is None else start.date(),
                end=None if end is None else end.date(),
                regions=names,
            )
        )
        _check(campaign_id, chosen)
        conditions = retry(lambda: wiring.ports.control.conditions(Workload.BACKFILL))
        waits = in_force(Workload.BACKFILL, conditions)
        if retry(lambda: is_under_way(wiring.session, campaign_id)):
            click.echo(
                f"{campaign_id} is still under way, and what it writes from now on stays: "
                f'forecast-backfill kill --campaign {campaign_id} --reason "…" ends it',
                err=True,
            )
        if waits.slots == 0:
            click.echo(f"nothing starts yet: {waits.reason}; it waits", err=True)
        request = retry(lambda: wiring.request(campaign_id))
        outcomes = roll_back(chosen, campaign_id, request, wiring.ports, lambda outcome: None)
        told = tell_dagster(campaign_id, outcomes, wiring)
    if as_json:
        click.echo(json.dumps({**_fields(campaign_id, outcomes), **told.fields}))
    else:
        _print(campaign_id, outcomes)
        print_told(told, campaign_id)
    return 1 if _troubled(outcomes) else 0


def _check(campaign_id: str, chosen: Sequence[KeptPartition]) -> None:
    if not chosen:
        raise UsageRefused(
            f"nothing is kept of {campaign_id!r} that could be put back",
            why="it was accepted, changed no partition of that range, or there is no such campaign",
            next_command="forecast-backfill status (lists the campaigns)",
        )
    if any(each.workload is Workload.NIGHTLY for each in chosen):
        raise UsageRefused(
            f"{campaign_id!r} was nightly's own run",
            why="only campaigns are rolled back; nightly's rows are corrected by their source",
            next_command="land the source again: nightly builds it anew",
        )


def _troubled(outcomes: Sequence[RollbackOutcome]) -> list[Left | NotRolledBack]:
    return [each for each in outcomes if isinstance(each, Left | NotRolledBack)]


def _fields(campaign_id: str, outcomes: Sequence[RollbackOutcome]) -> dict[str, object]:
    counts = Counter(type(each).__name__ for each in outcomes)
    return {
        "campaign_id": campaign_id,
        "rolled_back": counts["RolledBack"],
        "already_back": counts["AlreadyBack"],
        "left": counts["Left"],
        "failed": counts["NotRolledBack"],
        "rows": sum(each.rows for each in outcomes if isinstance(each, RolledBack)),
        "not_rolled_back": [
            {
                "date": each.partition.date.isoformat(),
                "region": each.partition.region,
                "failed": isinstance(each, NotRolledBack),
                "reason": each.reason,
            }
            for each in _troubled(outcomes)
        ],
    }


def _print(campaign_id: str, outcomes: Sequence[RollbackOutcome]) -> None:
    fields = _fields(campaign_id, outcomes)
    click.echo(
        f"{fields['rolled_back']} partitions of {campaign_id} are back as they were before it, "
        f"{fields['already_back']} were already · {fields['rows']:,} rows"
    )
    troubled = _troubled(outcomes)
    if not troubled:
        return
    click.echo(f"{len(troubled)} were left as they are:", err=True)
    for each in troubled[:SHOWN]:
        click.echo(f"  {each.partition}  {reason_of_rollback(each)}", err=True)
    if len(troubled) > SHOWN:
        click.echo(f"  … and {len(troubled) - SHOWN} more (--json names all)", err=True)
