"""Simulates five policies at the size of a usual campaign, and of a million tasks.

Run as `python -m benchmarks.simulation`; needs no database.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version

from benchmarks.machine import describe_machine
from benchmarks.results import write_section
from forecast_backfill.simulation.compare import Result, Scenario, compare
from forecast_backfill.simulation.shapes import Campaign, parse_night, spread_durations

COMMAND = "python -m benchmarks.simulation"
LONGEST_SECONDS = 60.0
"""Within which a million tasks on ten thousand slots are to be compared."""

CASES = (
    (300, 9_000, "regions:200x3m,fit:1x20m@150,forecasts:40x30s"),
    (10_000, 1_000_000, "regions:6000x3m,fit:40x20m@150,forecasts:4000x30s"),
)
"""Slots, tasks of 3 minutes (5 at the 95th percentile), and the night that begins an hour later."""


def measure() -> Iterator[str]:
    """A table a case."""
    for slots, tasks, night in CASES:
        campaign = Campaign(tasks=tasks, durations=spread_durations(180.0, 300.0), p95=300.0)
        scenario = Scenario(
            slots=slots,
            nights=(parse_night(night),),
            first_night=3600.0,
            deadline=9000.0,
            fit="fit",
            campaign=campaign,
        )
        started = time.perf_counter()
        results = compare(scenario)
        seconds = time.perf_counter() - started
        yield from _table(scenario, night, results, seconds)
        assert seconds < LONGEST_SECONDS


def _table(
    scenario: Scenario, night: str, results: Sequence[Result], seconds: float
) -> Iterator[str]:
    size = f"{scenario.campaign.tasks:,} tasks on {scenario.slots:,} slots"
    yield (
        f"\n{size} beside the night `{night}`: simulated in **{seconds:.1f} s**, all policies.\n"
    )
    yield "| policy | cap | fit later than alone | night ends | deadline | campaign |"
    yield "|---|---:|---:|---:|---|---:|"
    for each in results:
        assert each.fit_delay is not None
        assert each.nightly_end is not None
        assert each.late_by is not None
        assert each.campaign_seconds is not None
        verdict = "missed" if each.late_by > 0 else "met"
        yield (
            f"| {each.policy} | {each.cap:,} | {each.fit_delay / 60:.1f} min | "
            f"after {each.nightly_end / 60:.1f} min | {verdict} | "
            f"{each.campaign_seconds / 3600:.2f} h |"
        )


def main() -> None:
    """Measure and write the section."""
    tables = "\n".join(measure())
    facts = describe_machine(SimPy=version("simpy"), Command=f"`{COMMAND}`")
    told = "Tasks of 3 minutes, 5 at the 95th percentile; launched an hour before the night."
    write_section("simulation", f"## Policies, simulated\n\n{facts}\n\n{told}\n{tables}")


if __name__ == "__main__":
    main()
