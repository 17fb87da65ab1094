"""`forecast-backfill pause`: nothing new starts; what is in flight ends by itself."""

from __future__ import annotations

import click

from forecast_backfill.app.operate import Motion, motion_of
from forecast_backfill.cli.turning import (
    json_option,
    knob_fields,
    reason_option,
    say,
    turn,
    workload_option,
)
from forecast_backfill.core.states import Workload
from forecast_backfill.settings import load_settings
from forecast_backfill.warehouse.leases import list_flights
from forecast_backfill.wiring.partition import open_session


@click.command("pause")
@reason_option
@workload_option
@json_option
def command(reason: str, workload: str, as_json: bool) -> int:
    """Start no partition and no fit any more; campaigns stay, and wait.

    Partitions in flight end as ever. `resume` goes on where it stopped.
    """
    chosen = Workload(workload)
    with open_session(load_settings(), chosen) as session:
        knobs = turn(session, chosen, "pause", reason=reason, intent="paused")
        flights = len(list_flights(session, chosen))
    motion = motion_of(is_paused=True, in_flight=flights)
    told = f"{chosen} is {motion}"
    if motion is Motion.PAUSING:
        told += f": {flights} in flight will end"
    fields = {"workload": chosen.value, "motion": motion.value, "in_flight": flights}
    say(
        [told, f'  next: forecast-backfill resume{_option(chosen)} --reason "…"'],
        {**fields, **knob_fields(knobs)},
        as_json=as_json,
    )
    return 0


def _option(workload: Workload) -> str:
    return "" if workload is Workload.BACKFILL else f" --workload {workload}"
