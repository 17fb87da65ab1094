"""`forecast-backfill resume`: ends a pause, and resets a tripped pace."""

from __future__ import annotations

import click

from forecast_backfill.cli.turning import (
    json_option,
    knob_fields,
    reason_option,
    say,
    turn,
    user,
    workload_option,
)
from forecast_backfill.core.pace import PaceLevel, PaceState
from forecast_backfill.core.states import Workload
from forecast_backfill.settings import load_settings
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.control import find_pause, read_knobs
from forecast_backfill.warehouse.pace import PostgresPace
from forecast_backfill.wiring.partition import open_session


@click.command("resume")
@reason_option
@workload_option
@json_option
def command(reason: str, workload: str, as_json: bool) -> int:
    """Let a paused workload go on; waiting tasks start within two seconds.

    Where the pace had tripped, only this resets it: what tripped is told, and health is measured
    before anything starts.
    """
    chosen = Workload(workload)
    with open_session(load_settings(), chosen) as session:
        before = read_knobs(session, chosen)
        pause = find_pause(session, chosen) or (before.reason, before.changed_by)
        tripped = None if chosen is Workload.NIGHTLY else _reset_trip(session, reason)
        knobs = turn(session, chosen, "resume", reason=reason, intent="running")
    lines = [f"{chosen} {'goes on' if before.intent == 'paused' else 'was not paused'}"]
    if before.intent == "paused":
        lines.append(f"  it was paused by {pause[1]}: {pause[0]}")
    if tripped is not None:
        lines.append(f"  the trip is reset: {tripped.reason}")
    fields = {
        "workload": chosen.value,
        "was_paused": before.intent == "paused",
        "tripped": None if tripped is None else _trip_fields(tripped),
    }
    say(lines, {**fields, **knob_fields(knobs)}, as_json=as_json)
    return 0


def _reset_trip(session: Session, reason: str) -> PaceState | None:
    pace = PostgresPace(session)
    state, _ = pace.read()
    if state.level is not PaceLevel.TRIPPED:
        return None
    pace.reset(user(), reason)
    return state


def _trip_fields(state: PaceState) -> dict[str, object]:
    return {
        "signal": state.signal,
        "value": state.value,
        "reason": state.reason,
        "since": state.changed_at.isoformat(),
    }
