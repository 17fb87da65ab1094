"""`forecast-backfill capacity`: the slots that nightly needs, and the cap that follows."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import click

from forecast_backfill.app.measure_capacity import measure, measure_and_apply
from forecast_backfill.cli.turning import user
from forecast_backfill.core.capacity_measure import CapacityMeasure
from forecast_backfill.core.states import Workload
from forecast_backfill.settings import Settings, load_settings
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.wiring.partition import open_session


@click.command("capacity")
@click.option("--nights", type=click.IntRange(1, 365), help="Nights on record to measure over.")
@click.option(
    "--headroom", type=click.IntRange(0, 1000), help="Slots to keep free beside the peak."
)
@click.option("--apply", "is_applied", is_flag=True, help="Put the measure in force.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(nights: int | None, headroom: int | None, is_applied: bool, as_json: bool) -> int:
    """Read nightly's runs of recent nights and print the most slots that they held at once.

    The cap is slots less this peak less the headroom; what is idle now is never asked. With fewer
    than three nights on record the configured peak is used. With --apply an automatic cap follows
    the measure from now on; a cap that on-call has set stays.
    """
    settings = load_settings()
    with open_session(settings, Workload.BACKFILL) as session:
        measured = measure_now(
            settings, session, nights=nights, headroom=headroom, is_applied=is_applied
        )
    if as_json:
        click.echo(json.dumps({**as_fields(measured), "applied": is_applied}))
    else:
        _print(measured, is_applied=is_applied)
    return 0


def measure_now(
    settings: Settings,
    session: Session,
    *,
    nights: int | None = None,
    headroom: int | None = None,
    is_applied: bool,
) -> CapacityMeasure:
    """Measure over Dagster's run records, and put the measure in force where asked."""
    # Dagster takes seconds to import: only here, where its records are read.
    from forecast_backfill.dagster_defs.night_records import open_capacity_ports

    now = datetime.now(UTC)
    with open_capacity_ports(settings, session, nights=nights, headroom=headroom) as ports:
        if is_applied:
            return measure_and_apply(now, by=user(), ports=ports)
        return measure(now, ports=ports)


def as_fields(measured: CapacityMeasure) -> dict[str, object]:
    """The measure as JSON has it; profile: seconds since the night's begin, slots from then on."""
    return {
        "slots": measured.slots,
        "peak": measured.peak,
        "headroom": measured.headroom,
        "cap": measured.cap,
        "nights": measured.nights,
        "source": measured.source.value,
        "peak_at": None if measured.peak_at is None else measured.peak_at.isoformat(),
        "by_shape": dict(measured.by_shape),
        "together": dict(measured.together),
        "profile": [[since.total_seconds(), slots] for since, slots in measured.profile.steps],
        "reason": measured.reason,
    }


def _print(measured: CapacityMeasure, *, is_applied: bool) -> None:
    at = "" if measured.peak_at is None else f", first at {measured.peak_at:%Y-%m-%d %H:%M} UTC"
    click.echo(f"peak      {measured.peak} slots{at}")
    click.echo(f"          {measured.reason}")
    for shape, slots in sorted(measured.by_shape.items()):
        there = measured.together.get(shape, 0)
        click.echo(f"  {shape:<18} {slots:>4} by itself, {there} at the peak")
    click.echo(f"headroom  {measured.headroom}")
    click.echo(
        f"cap       {measured.cap} = {measured.slots} slots - {measured.peak} - {measured.headroom}"
    )
    if measured.cap == 0:
        click.echo("          peak and headroom take every slot: a campaign would never run")
    if is_applied:
        click.echo("applied: in force wherever the cap is automatic")
    else:
        click.echo("next: forecast-backfill capacity --apply")
