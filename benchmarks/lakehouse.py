"""Measures a partition in PostgreSQL and in the lakehouse, and a Delta commit by the table's size.

Run as `python -m benchmarks.lakehouse`; starts a server of its own and removes it afterwards. What
`docs/scale.md` reckons with is measured here and nothing else: seconds a partition and a row, and
seconds a commit by the files that the table has. Commits are measured in processor time too, since
it depends less on what else runs.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from deltalake import DeltaTable
from deltalake.transaction import AddAction

from benchmarks.machine import describe_machine
from benchmarks.one_partition import PARTITION, land_dimensions, land_sales
from benchmarks.results import write_section
from forecast_backfill.app.run_grouped import run_grouped
from forecast_backfill.app.run_partition import run_batch
from forecast_backfill.core.partition import DateRange, Partition
from forecast_backfill.core.states import Workload
from forecast_backfill.settings import Settings, load_settings
from forecast_backfill.warehouse.embedded import EmbeddedServer
from forecast_backfill.warehouse_delta.delta_log import Change, DeltaLog
from forecast_backfill.warehouse_delta.demand_file import TABLE_SCHEMA, folder_of
from forecast_backfill.wiring.lakehouse import demand_of
from forecast_backfill.wiring.partition import open_wiring

CASES = ((100, 200), (10_000, 20))
"""Rows a partition, and how many partitions a batch has."""
WAYS = (
    ("PostgreSQL", "postgres", run_batch),
    ("Delta, a commit a batch", "delta", run_grouped),
    ("Delta, a commit a partition", "delta", run_batch),
)
FILES = (1_000, 10_000, 36_000)
ROUNDS = 3
COMMITS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """Seconds of one commit over a table of so many files: by the clock, and of the processor."""

    files: int
    wall: float
    processor: float


def main() -> int:
    """Measure and write the section."""
    is_small = "--small" in sys.argv[1:]
    cases = tuple((rows, max(2, count // 20)) for rows, count in CASES) if is_small else CASES
    files = FILES[:1] if is_small else FILES
    with tempfile.TemporaryDirectory(prefix="fb-lakehouse-") as name:
        home = Path(name)
        server = EmbeddedServer(home)
        try:
            url = server.start()
            tasks, windows = _measure_tasks(home, url, cases, 1 if is_small else ROUNDS)
        finally:
            server.stop()
        commits = [_measure_commit(home / str(count), count) for count in files]
    section = report(cases, tasks, windows, commits)
    if is_small:
        sys.stdout.write(section + "\n")
    else:
        write_section("lakehouse", section)
    return 0


def report(
    cases: Iterable[tuple[int, int]],
    tasks: dict[tuple[str, int], float],
    windows: dict[str, float],
    commits: Iterable[Commit],
) -> str:
    """The section."""
    lines = [
        "## The lakehouse",
        "",
        describe_machine(deltalake=version("deltalake"), DuckDB=version("duckdb")),
        "- Command: `python -m benchmarks.lakehouse`",
        "",
        "A task, one process, without Dagster: admission to commit, source read and judged, best "
        f"of {ROUNDS}.",
        "",
        "| rows a partition | partitions | " + " | ".join(name for name, *_ in WAYS) + " |",
        "|---:|---:|" + "---:|" * len(WAYS),
    ]
    for rows, count in cases:
        shown = [f"{tasks[name, rows] / count * 1000:.1f} ms" for name, *_ in WAYS]
        lines.append(f"| {rows:,} | {count} | " + " | ".join(shown) + " |")
    lines += [
        "",
        "A window of all of them read for training: "
        + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in windows.items())
        + ".",
        "",
        "A commit that replaces one partition, by the files that the table has (with the look at "
        "the log before it; a checkpoint is there):",
        "",
        "| files | by the clock | processor | processor a million files |",
        "|---:|---:|---:|---:|",
        *(
            f"| {each.files:,} | {each.wall * 1000:.0f} ms | {each.processor * 1000:.0f} ms |"
            f" {each.processor / each.files * 1e6:.1f} s |"
            for each in commits
        ),
    ]
    return "\n".join(lines)


def _measure_tasks(
    home: Path, url: str, cases: tuple[tuple[int, int], ...], rounds: int
) -> tuple[dict[tuple[str, int], float], dict[str, float]]:
    batches = {rows: _land(home / "landing", rows, count) for rows, count in cases}
    tasks: dict[tuple[str, int], float] = {}
    windows: dict[str, float] = {}
    for name, warehouse, run in WAYS:
        for turn in range(rounds):
            # A folder each: in the same one the rows would be found proved, and not be written.
            settings = _settings(home, url, warehouse, f"{name} {turn}")
            for rows, partitions in batches.items():
                taken = _run(settings, partitions, run)
                tasks[name, rows] = min(taken, tasks.get((name, rows), taken))
        windows[name] = _read_window(settings)
    return tasks, windows


def _run(settings: Settings, partitions: list[Partition], run: Callable[..., Any]) -> float:
    """Seconds of one batch."""
    began = time.monotonic()
    with open_wiring(settings, workload=Workload.BACKFILL, run_id="bench") as wiring:
        request = wiring.request(reprocess=True)
        outcomes = run(partitions, request, wiring.ports, lambda outcome: None)
    assert {type(each).__name__ for each in outcomes} == {"Written"}, outcomes
    return time.monotonic() - began


def _read_window(settings: Settings) -> float:
    window = DateRange(start=PARTITION.date - timedelta(days=2_000), end=PARTITION.date)
    with open_wiring(settings, workload=Workload.NIGHTLY, run_id="bench") as wiring:
        demand = demand_of(settings, wiring.session, None)
        began = time.monotonic()
        assert demand.read(window)
        return time.monotonic() - began


def _measure_commit(folder: Path, count: int) -> Commit:
    """Commits over a table whose log names `count` files; only the new ones are there."""
    log = DeltaLog(folder)
    log.reload()
    table = DeltaTable(str(log.directory))
    partitions = [
        Partition(date=date(2020, 1, 1) + timedelta(days=each // 400), region=f"R{each % 400:03}")
        for each in range(count)
    ]
    names = dict.fromkeys(partitions, f"{'0' * 20}-{'0' * 32}.parquet")
    table.create_write_transaction(
        [_entry(each, names[each]) for each in partitions],
        "append",
        TABLE_SCHEMA,
        ["date", "region"],
    )
    DeltaTable(str(log.directory)).create_checkpoint()
    walls: list[float] = []
    processors: list[float] = []
    for number in range(COMMITS):
        partition = partitions[number * 97 % count]
        file = log.directory / folder_of(partition) / f"{'1' * 20}-{number}.parquet"
        file.parent.mkdir(parents=True)
        file.write_bytes(b"not read here")
        began, worked = time.monotonic(), time.process_time()
        log.reload()
        seen = log.files_of(partition)
        log.publish([Change(partition=partition, file=file, rows=1, seen=seen)], {})
        walls.append(time.monotonic() - began)
        processors.append(time.process_time() - worked)
    # The first one still reads the checkpoint.
    return Commit(files=count, wall=median(walls[1:]), processor=median(processors[1:]))


def _entry(partition: Partition, name: str) -> AddAction:
    return AddAction(
        path=f"{folder_of(partition)}/{name}",
        size=3_000,
        partition_values={"date": str(partition.date), "region": partition.region},
        modification_time=0,
        data_change=True,
        stats='{"numRecords": 100}',
    )


def _land(landing: Path, rows: int, count: int) -> list[Partition]:
    if not landing.exists():
        land_dimensions(landing)
    year = [size for size, _ in CASES].index(rows)
    first = PARTITION.date - timedelta(days=1 + 365 * (year + 1))
    partitions = [
        Partition(date=first + timedelta(days=number), region=PARTITION.region)
        for number in range(count)
    ]
    for number, partition in enumerate(partitions):
        land_sales(landing, rows, number, partition)
    return partitions


def _settings(home: Path, url: str, warehouse: str, folder: str) -> Settings:
    return load_settings(
        home=home,
        database_url=url,
        warehouse=warehouse,
        lakehouse=home / folder,
        regions=(PARTITION.region,),
        first_date=PARTITION.date - timedelta(days=3_000),
        as_of=PARTITION.date,
        seam=PARTITION.date,
        nightly_peak=0,
    )


if __name__ == "__main__":
    sys.exit(main())
