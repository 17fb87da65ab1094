"""Measures how long readers wait for a swap of the version that they read, and what a shadow costs.

Run as `python -m benchmarks.swap [--days 30] [--regions 40] [--rounds 20]`; starts a server of its
own and removes it afterwards. Readers ask for one partition each, 100 times a second, at times that
are fixed beforehand: a read that is late because the one before it waited counts as late. Nightly
writes all the while, in a process of its own. Each round swaps and reverts; in the second half of
the rounds some reader also keeps a transaction open for 1.5 s again and again, so that a try has to
give way.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from benchmarks.machine import describe_machine
from benchmarks.paced_reads import QUERIES_A_SECOND, READERS, Reads, readers
from benchmarks.results import write_section
from benchmarks.site import AS_OF, FIRST_DATE
from forecast_backfill.app.fill_shadow import fill_all
from forecast_backfill.app.run_partition import run_batch
from forecast_backfill.app.shadow import Stepped, current, revert, swap, validate
from forecast_backfill.cli.landing import land_with_progress, order_of
from forecast_backfill.core.partition import DateRange, Partition, partitions_of
from forecast_backfill.core.shadow import read_definition
from forecast_backfill.core.states import Workload
from forecast_backfill.ports.shadow import By
from forecast_backfill.settings import Settings, load_settings
from forecast_backfill.warehouse.embedded import EmbeddedServer
from forecast_backfill.wiring.partition import open_wiring
from forecast_backfill.wiring.shadow import ShadowWiring, open_shadows, pauses

AIM_SECONDS = 1.0
BY = By(name="bench", reason="measured")
DEFINITION = """
[columns.date]
type = "date"
[columns.region]
type = "text"
[columns.store_id]
type = "text"
[columns.product_id]
type = "text"
[columns.demand_group]
type = "text"
from = "demand_group"
not_null = true
[columns.quantity]
type = "integer"
from = "units"
not_null = true
[columns.revenue]
type = "numeric(12,2)"
from = "revenue_cents / 100.0"
not_null = true
[columns.is_promoted]
type = "boolean"
from = "coalesce(on_display or on_mailer, false)"
not_null = true
"""


def write_as_nightly(settings: Settings, partitions: Sequence[Partition], over: object) -> None:
    """Write the partitions again and again, in a process of its own."""
    with open_wiring(settings, workload=Workload.NIGHTLY, run_id="nightly") as wiring:
        ports = replace(wiring.ports, seam=FIRST_DATE)
        request = wiring.request(reprocess=True)
        while not over.is_set():  # type: ignore[attr-defined]
            run_batch(partitions, request, ports, lambda outcome: None)


@contextmanager
def nightly(settings: Settings, partitions: Sequence[Partition]) -> Iterator[None]:
    """A nightly writer for the block."""
    processes = multiprocessing.get_context("spawn")
    over = processes.Event()
    process = processes.Process(target=write_as_nightly, args=(settings, partitions, over))
    process.start()
    try:
        yield
    finally:
        over.set()
        process.join()


def build(settings: Settings, partitions: Sequence[Partition], name: str) -> float:
    """Build the partitions as one campaign, all of them anew; seconds."""
    with open_wiring(settings, workload=Workload.BACKFILL, run_id=name) as wiring:
        began = time.perf_counter()
        request = wiring.request(campaign_id=name, reprocess=True)
        run_batch(partitions, request, wiring.ports, lambda outcome: None)
        return time.perf_counter() - began


def fill(settings: Settings, wiring: ShadowWiring) -> float:
    """Fill the shadow; seconds."""
    due = wiring.shadows.due(current(wiring.shadows).shadow_id)
    with open_wiring(settings, workload=Workload.BACKFILL, run_id="fill") as opened:
        began = time.perf_counter()
        fill_all(due, opened.request(), opened.ports, lambda filled: None)
        return time.perf_counter() - began


def go_over_and_back(wiring: ShadowWiring, rounds: int) -> list[Stepped]:
    """So many swaps and reverts, with a second of rest after each."""
    steps: list[Stepped] = []
    for _ in range(rounds):
        validate(current(wiring.shadows), BY, wiring.shadows, lambda count: None)
        for step in (swap, revert):
            shadow = current(wiring.shadows)
            steps.append(step(shadow, BY, wiring.versions, wiring.clock, pauses()))
            time.sleep(1)
    return steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Everything that was found; times in seconds."""

    partitions: int
    rows: int
    alone: float
    with_shadow: float
    filled: float
    validated: float
    reads: dict[str, Reads]
    steps: dict[str, list[Stepped]]

    @property
    def worst(self) -> float:
        """The longest that any read took while versions were swapped."""
        return max(reads.worst() for name, reads in self.reads.items() if name in self.steps)


def measure(settings: Settings, partitions: Sequence[Partition], rounds: int) -> Measured:
    """Build, shadow, then swap and revert under load."""
    url = settings.database_url or ""
    nights = list(partitions[-40:])
    build(settings, partitions, "spring")
    alone = build(settings, partitions, "summer")
    reads: dict[str, Reads] = {}
    steps: dict[str, list[Stepped]] = {}
    with open_shadows(settings) as wiring:
        wiring.shadows.start(read_definition(DEFINITION), BY)
        filled = fill(settings, wiring)
        with_shadow = build(settings, partitions, "autumn")
        began = time.perf_counter()
        found, _ = validate(current(wiring.shadows), BY, wiring.shadows, lambda count: None)
        validated = time.perf_counter() - began
        with nightly(settings, nights):
            time.sleep(3)
            with readers(url, partitions) as reads["nothing is swapped"]:
                time.sleep(10)
            for name, has_report in (("short readers", False), ("and a report of 1.5 s", True)):
                with readers(url, partitions, has_report=has_report) as reads[name]:
                    steps[name] = go_over_and_back(wiring, rounds // 2)
        last, _ = validate(current(wiring.shadows), BY, wiring.shadows, lambda count: None)
        assert not last.differing, "nightly's writes were lost on one side"
    return Measured(
        partitions=len(partitions),
        rows=found.rows,
        alone=alone,
        with_shadow=with_shadow,
        filled=filled,
        validated=validated,
        reads=reads,
        steps=steps,
    )


def section_of(found: Measured, command: str) -> str:
    """The section of the results."""
    lines = [
        "## Swap of the version that readers read",
        "",
        describe_machine(),
        f"- Command: `{command}`",
        "",
        f"{found.partitions:,} partitions, {found.rows:,} rows; {QUERIES_A_SECOND} reads a second "
        f"by {READERS} readers at fixed times, nightly writing in a process of its own. A read is "
        "counted from the moment at which it was due.",
        "",
        "| readers | reads | p99 ms | longest ms | swaps and reverts | most tries | name held ms |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, reads in found.reads.items():
        steps = found.steps.get(name, [])
        tries = max((each.tries for each in steps), default=0)
        held = max((each.held_seconds for each in steps), default=0.0)
        lines.append(
            f"| {name} | {len(reads.seconds):,} | {reads.p99() * 1000:.1f} | "
            f"{reads.worst() * 1000:.0f} | {len(steps)} | {tries} | {held * 1000:.0f} |"
        )
    each = found.partitions / 1000
    lines += [
        "",
        f"Longest read while versions were swapped: {found.worst * 1000:.0f} ms (aim: below "
        f"{AIM_SECONDS * 1000:.0f} ms). Afterwards both versions held every row that nightly "
        "wrote.",
        "",
        "| what a shadow costs | ms a partition |",
        "|---|---:|",
        f"| a partition without a shadow | {found.alone / each:.1f} |",
        f"| a partition, both written | {found.with_shadow / each:.1f} |",
        f"| filled from the live rows | {found.filled / each:.1f} |",
        f"| compared by the mapping | {found.validated / each:.1f} |",
    ]
    return "\n".join(lines)


def main() -> int:
    """Run on a server of its own; 1 where a reader waited a second or longer."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--regions", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=20)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fb-", ignore_cleanup_errors=True) as home:
        server = EmbeddedServer(Path(home))
        try:
            settings = load_settings(
                home=Path(home),
                database_url=server.start(),
                first_date=FIRST_DATE,
                as_of=AS_OF,
            )
            names = settings.regions[: chosen.regions]
            dates = DateRange(start=AS_OF - timedelta(days=chosen.days), end=AS_OF)
            land_with_progress(order_of(settings, days=chosen.days + 1, as_of=AS_OF, landed=names))
            found = measure(settings, list(partitions_of(dates, names)), chosen.rounds)
        finally:
            server.stop()
    is_full = (chosen.days, chosen.regions, chosen.rounds) == (30, 40, 20)
    words = f" --days {chosen.days} --regions {chosen.regions} --rounds {chosen.rounds}"
    section = section_of(found, "python -m benchmarks.swap" + ("" if is_full else words))
    sys.stdout.write(f"{section}\n")
    if chosen.days * chosen.regions >= 1200:
        write_section("swap", section)
    return 0 if found.worst < AIM_SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
