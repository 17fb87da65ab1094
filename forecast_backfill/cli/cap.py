"""`forecast-backfill cap`: how many slots backfill may hold, and its rows a second."""

from __future__ import annotations

import click

from forecast_backfill.app.operate import in_force
from forecast_backfill.cli.capacity import measure_now
from forecast_backfill.cli.turning import json_option, knob_fields, reason_option, say, turn
from forecast_backfill.core.errors import UsageRefused
from forecast_backfill.core.states import Workload
from forecast_backfill.settings import load_settings
from forecast_backfill.wiring.control import control_of
from forecast_backfill.wiring.partition import open_session

AUTO = "auto"
OFF = "off"
LONGEST = 15
"""Digits of a number that can be meant."""


@click.command("cap")
@click.argument("slots", metavar="N|auto", required=False)
@click.option("--rate", metavar="ROWS|off", help="Rows a second that all tasks write together.")
@reason_option
@json_option
def command(slots: str | None, rate: str | None, reason: str, as_json: bool) -> int:
    """Let backfill hold at most N slots, 0 for none; auto is slots less the nightly peak.

    auto measures the peak anew, as `forecast-backfill capacity --apply` does.
    It takes hold at the next partition boundary, also of runs that are under way. --rate limits the
    rows a second, alone or beside N.
    """
    settings = load_settings()
    asked = None if slots is None else _number(slots, none=AUTO, least=0, most=settings.slots)
    wanted = None if rate is None else _number(rate, none=OFF, least=1, most=None)
    if asked is None and wanted is None:
        raise click.UsageError("name N, auto or --rate")
    with open_session(settings, Workload.BACKFILL) as session:
        knobs = None
        if asked is not None:
            knobs = turn(session, Workload.BACKFILL, "cap", reason=reason, cap=asked)
        if slots == AUTO:
            measure_now(settings, session, is_applied=True)
        if wanted is not None:
            knobs = turn(session, Workload.BACKFILL, "rate", reason=reason, rate=wanted)
        assert knobs is not None
        conditions = control_of(settings, session).conditions(Workload.BACKFILL)
        now = in_force(Workload.BACKFILL, conditions)
    limit = "no limit" if knobs.rate is None else f"{knobs.rate:,} rows/s"
    lines = [
        f"backfill may hold {conditions.cap_in_force} of {settings.slots} slots; rate: {limit}",
        f"  in force now: {now.slots} ({now.reason})",
    ]
    fields = {
        "slots": settings.slots,
        "cap_in_force": conditions.cap_in_force,
        "in_force": {"slots": now.slots, "reason": now.reason},
    }
    say(lines, {**fields, **knob_fields(knobs)}, as_json=as_json)
    return 0


def _number(text: str, *, none: str, least: int, most: int | None) -> tuple[int | None]:
    """The number in a tuple of one, as a knob takes it; the word `none` sets it to None."""
    if text == none:
        return (None,)
    number = int(text) if text.isdecimal() and len(text) <= LONGEST else -1
    if number >= least and (most is None or number <= most):
        return (number,)
    named = f"the {most} of FORECAST_BACKFILL_SLOTS"
    upper = f" of at most {LONGEST} digits" if most is None else f" up to {named}"
    raise UsageRefused(
        f"{text!r} was refused",
        why=f"it is neither {none} nor a number from {least}{upper}",
        next_command=f'forecast-backfill cap {none if most else "--rate off"} --reason "…"',
    )
