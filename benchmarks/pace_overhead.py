"""Measures what looking at production's health costs a campaign.

Run as `python -m benchmarks.pace_overhead`; starts servers of its own and removes them afterwards.
One worker writes small partitions (100 rows, as the real data has) one after the other and comes by
the pace before each of them: every look is its own, where several workers would share them. Its
overhead is the part of the campaign's time that is spent there. Looks go on in a thread beside the
work; what they cost is timed apart.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from benchmarks.machine import describe_machine
from benchmarks.one_partition import PARTITION, land_dimensions, land_sales
from benchmarks.results import write_section
from forecast_backfill.app.pacing import sample_if_due
from forecast_backfill.app.run_partition import run_partition
from forecast_backfill.core.outcome import Written
from forecast_backfill.core.pace import PaceRules
from forecast_backfill.core.states import Workload
from forecast_backfill.settings import Settings, load_settings
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.embedded import EmbeddedServer
from forecast_backfill.wiring.pace import pace_ports
from forecast_backfill.wiring.pace_health import PaceHealth
from forecast_backfill.wiring.partition import open_wiring
from forecast_backfill_tests.postgres.replicas import streaming_pair

SECONDS = 60.0
ROWS = 100
LIMIT = 0.01
LOOKS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Overhead:
    """One campaign: its seconds, those at each boundary, and those of a look beside the work."""

    name: str
    partitions: int
    seconds: float
    boundaries: list[float]
    looks: int
    look_seconds: float

    @property
    def part(self) -> float:
        """The part of the campaign's time that went to the pace."""
        return sum(self.boundaries) / self.seconds

    def as_row(self) -> str:
        """A row of the table."""
        return (
            f"| {self.name} | {self.partitions} | {self.seconds:.0f} "
            f"| {statistics.mean(self.boundaries) * 1e3:.3f} ms | **{self.part:.2%}** "
            f"| {self.looks} | {self.look_seconds * 1e3:.1f} ms "
            f"| {self.looks * self.look_seconds / self.seconds:.2%} |"
        )


def measure(name: str, settings: Settings) -> Overhead:
    """One campaign by one worker."""
    land_dimensions(settings.landing_directory)
    land_sales(settings.landing_directory, ROWS, seed=1)
    boundaries: list[float] = []
    seen: set[datetime | None] = set()
    with open_wiring(settings, workload=Workload.BACKFILL, run_id="bench") as wiring:
        request = wiring.request(reprocess=True)
        health = PaceHealth(settings, wiring.session)
        health()
        started = time.perf_counter()
        while time.perf_counter() - started < SECONDS:
            before = time.perf_counter()
            state = health.state()
            boundaries.append(time.perf_counter() - before)
            seen.add(state.sampled_at)
            outcome = run_partition(PARTITION, request, wiring.ports)
            assert isinstance(outcome, Written), outcome
        seconds = time.perf_counter() - started
        health.close()
        look_seconds = time_of_a_look(settings, wiring.session)
    return Overhead(
        name=name,
        partitions=len(boundaries),
        seconds=seconds,
        boundaries=boundaries,
        looks=len(seen),
        look_seconds=look_seconds,
    )


def time_of_a_look(settings: Settings, session: Session) -> float:
    """The median seconds of looks alone, connections, storing and all."""
    ports = replace(pace_ports(settings, session), rules=PaceRules(interval=timedelta(0)))
    times: list[float] = []
    for _ in range(LOOKS):
        before = time.perf_counter()
        sample_if_due(ports)
        times.append(time.perf_counter() - before)
        time.sleep(0.2)
    return statistics.median(times)


@contextmanager
def settings_on(url: str, folder: Path, replica_url: str | None = None) -> Iterator[Settings]:
    """Settings over the database, with a landing in the folder."""
    yield load_settings(
        home=folder,
        database_url=url,
        replica_url=replica_url,
        landing=folder / "landing",
        first_date=PARTITION.date - timedelta(days=30),
        as_of=PARTITION.date + timedelta(days=30),
        seam=PARTITION.date + timedelta(days=30),
        backfill_nice=0,
    )


def without_replica() -> Overhead:
    """On one server."""
    with tempfile.TemporaryDirectory(prefix="fb-", ignore_cleanup_errors=True) as name:
        folder, server = Path(name), EmbeddedServer(Path(name))
        try:
            with settings_on(server.start(), folder) as settings:
                return measure("no replica", settings)
        finally:
            server.stop()


def with_replica() -> Overhead:
    """On a primary with a streaming replica, which each look asks too."""
    with tempfile.TemporaryDirectory(prefix="fb-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with (
            streaming_pair(folder) as pair,
            settings_on(pair.primary.url, folder, pair.replica.url) as settings,
        ):
            return measure("streaming replica", settings)


def section(found: list[Overhead]) -> str:
    """The section of RESULTS.md."""
    return "\n".join(
        [
            "## What pacing costs",
            "",
            describe_machine(PostgreSQL="embedded"),
            "- Command: `python -m benchmarks.pace_overhead`",
            "",
            f"One worker, partitions of {ROWS} rows, a look every 2 s by this worker alone. Limit: "
            f"less than {LIMIT:.0%} of the campaign's time.",
            "",
            "| | partitions | s | at a boundary | of the campaign "
            "| looks beside it | a look | in all |",
            "|---|---:|---:|---:|---:|---:|---:|---:|",
            *(each.as_row() for each in found),
        ]
    )


def main() -> int:
    """Measure both, and write the section; 1 where the limit was missed."""
    found = [without_replica(), with_replica()]
    markdown = section(found)
    write_section("pace_overhead", markdown)
    sys.stdout.write(f"{markdown}\n")
    return 0 if all(each.part < LIMIT for each in found) else 1


if __name__ == "__main__":
    sys.exit(main())
