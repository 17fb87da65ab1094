"""`forecast-backfill simulate`: nights and a campaign under several policies, side by side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from forecast_backfill.cli.progress_text import clock
from forecast_backfill.cli.simulated_scenario import Asked, build_scenario
from forecast_backfill.settings import load_settings
from forecast_backfill.simulation.compare import Result, Scenario, compare
from forecast_backfill.simulation.drawing import draw
from forecast_backfill.simulation.shapes import EXAMPLE

POSITIVE = click.FloatRange(min=0.0, min_open=True)
HOURS = click.FloatRange(min=0.0, max=24.0, min_open=True)


@click.command("simulate")
@click.option("--tasks", type=click.IntRange(1), help="Partitions of the campaign.")
@click.option("--task-minutes", type=POSITIVE, help="Minutes of a partition on average.")
@click.option("--task-p95-minutes", type=POSITIVE, help="At the 95th percentile.")
@click.option("--slots", type=click.IntRange(1), help="Slots of the machine; else the setting.")
@click.option("--peak", type=click.IntRange(0), help="Nightly's peak; else what the nights hold.")
@click.option("--headroom", type=click.IntRange(0), help="Slots beside the peak; else the setting.")
@click.option("--night", metavar="STAGES", help=f"A night, such as {EXAMPLE}; else those recorded.")
@click.option("--fit", metavar="STAGE", help="The stage whose start is looked at.")
@click.option("--deadline-minutes", type=POSITIVE, help="From the night's begin; else the setting.")
@click.option("--before-hours", type=HOURS, default=1.0, help="From the launch to the night. [1]")
@click.option("--days", type=click.IntRange(1, 365), default=30, help="Given up after. [30]")
@click.option("--seed", type=int, help="Of the durations that are drawn; else the setting.")
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="Write an SVG here.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(plot: Path | None, as_json: bool, **options: object) -> int:
    """Replay nights and a campaign: no cap, priority only, cap from idle, cap from peak, by night.

    Nights and durations are those on record where they are not given. For each policy: how much
    later than alone the fit starts, when the night ends against the deadline, how long the campaign
    takes. The same options and seed give the same answer.
    """
    scenario = build_scenario(load_settings(), Asked(**options))  # type: ignore[arg-type]
    results = compare(scenario)
    if plot is not None:
        plot.write_text(draw(scenario, results), encoding="utf-8")
    if as_json:
        policies = {each.policy.value: _fields(each) for each in results}
        click.echo(json.dumps({"plot": None if plot is None else str(plot), "policies": policies}))
    else:
        _print(scenario, results)
        if plot is not None:
            click.echo(f"plot: {plot}")
    return 0


def _fields(result: Result) -> dict[str, object]:
    return {
        "cap": result.cap,
        "fit_delay_seconds": result.fit_delay,
        "start_delay_seconds": result.start_delay,
        "nightly_end_seconds": result.nightly_end,
        "late_by_seconds": result.late_by,
        "campaign_seconds": result.campaign_seconds,
        "nights": result.nights,
    }


def _print(scenario: Scenario, results: Sequence[Result]) -> None:
    campaign = scenario.campaign
    click.echo(
        f"{campaign.tasks} tasks of {campaign.average / 60:.1f} min (p95 {campaign.p95 / 60:.1f}) "
        f"on {scenario.slots} slots, launched {clock(scenario.first_night)} before the night"
    )
    click.echo(f"{'policy':<18} {'cap':>6}  {'fit starts':<11} {'night ends':<30} campaign")
    for each in results:
        click.echo(
            f"{each.policy:<18} {each.cap:>6}  {_later(each.fit_delay):<11} {_end(each):<30} "
            f"{_or_never(each.campaign_seconds)}"
        )


def _later(seconds: float | None) -> str:
    return "never" if seconds is None else f"+{clock(seconds)}"


def _or_never(seconds: float | None) -> str:
    return "never" if seconds is None else clock(seconds)


def _end(result: Result) -> str:
    if result.nightly_end is None or result.late_by is None:
        return "never"
    if result.late_by > 0:
        return f"after {clock(result.nightly_end)}, LATE by {clock(result.late_by)}"
    return f"after {clock(result.nightly_end)}, in time"
