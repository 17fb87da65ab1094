"""Measures the same partitions in this process and in Spark on this machine, and where they cross.

Run as `python -m benchmarks.spark`; starts a server of its own and removes it afterwards. Both
engines replace the same rows of the same database by the same; the cases take turns. Spark's
session is opened once: what that costs, with its first job, stands apart, because a Connect server
has paid it before a run begins.
"""

from __future__ import annotations

import sys
import tempfile
import time
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import describe_machine
from benchmarks.one_partition import PARTITION, land_dimensions, land_sales
from benchmarks.results import write_section
from forecast_backfill.core.outcome import Written
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import Workload
from forecast_backfill.engines.spark_session import open_spark
from forecast_backfill.settings import Settings, load_settings
from forecast_backfill.warehouse.embedded import EmbeddedServer
from forecast_backfill.wiring.batch import OpenSpark, run_batch_of
from forecast_backfill.wiring.partition import open_wiring

CASES = ((100, 240), (1_000, 120), (10_000, 40), (50_000, 12))
"""Rows a partition, and how many partitions one batch has."""
ROUNDS = 3
CORES = 2
BATCH = 30
LARGEST = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Seconds of a batch, of each of its partitions and of each of its rows."""

    batch: float
    partition: float
    row: float

    def of(self, partitions: int, rows: int) -> float:
        """Seconds of a batch of so many partitions with so many rows each."""
        return self.batch + partitions * (self.partition + rows * self.row)


def main() -> int:
    """Measure and write the section."""
    is_small = "--small" in sys.argv[1:]
    cases = tuple((rows, max(2, count // 20)) for rows, count in CASES) if is_small else CASES
    with tempfile.TemporaryDirectory(prefix="fb-spark-") as name:
        home = Path(name)
        server = EmbeddedServer(home)
        try:
            section = measure(home, server.start(), cases, 1 if is_small else ROUNDS)
        finally:
            server.stop()
    if is_small:
        sys.stdout.write(section + "\n")
    else:
        write_section("spark", section)
    return 0


def measure(home: Path, url: str, cases: tuple[tuple[int, int], ...], rounds: int) -> str:
    """The section: every case in both engines."""
    batches = {rows: _land(home / "landing", rows, count) for rows, count in cases}
    pandas = _settings(home, url)
    spark = _settings(
        home, url, engine="spark", spark_master=f"local[{CORES}]", spark_max_cores=CORES
    )
    began = time.monotonic()
    with open_spark(spark, Workload.BACKFILL) as session:
        opened: OpenSpark = lambda: nullcontext(session)  # noqa: E731
        first = batches[cases[0][0]][:2]
        _run(spark, first, cases[0][0], opened)
        start = time.monotonic() - began
        seconds: dict[tuple[str, int], list[float]] = {}
        for _ in range(rounds):
            for rows, partitions in batches.items():
                for engine, settings, opens in (
                    ("pandas", pandas, None),
                    ("spark", spark, opened),
                ):
                    taken = _run(settings, partitions, rows, opens)
                    seconds.setdefault((engine, rows), []).append(taken)
    best = {key: min(values) for key, values in seconds.items()}
    return report(cases, best, start)


def report(
    cases: tuple[tuple[int, int], ...], best: dict[tuple[str, int], float], start: float
) -> str:
    """The measured seconds, the costs that fit them, and where the engines cross."""
    costs = {engine: _fit(cases, best, engine) for engine in ("pandas", "spark")}
    lines = [
        "## Pandas against Spark on one machine",
        "",
        describe_machine(Spark=_spark_version()),
        "- Command: `python -m benchmarks.spark`",
        "",
        f"| rows a partition | partitions | this process | Spark, local[{CORES}] | ratio |",
        "|---:|---:|---:|---:|---:|",
    ]
    for rows, count in cases:
        ours, theirs = best["pandas", rows], best["spark", rows]
        lines.append(
            f"| {rows:,} | {count} | {ours:.2f} s | {theirs:.2f} s | {ours / theirs:.2f} × |"
        )
    lines += [
        "",
        "| engine | a batch | a partition | a million rows |",
        "|---|---:|---:|---:|",
        *(
            f"| {engine} | {cost.batch:.2f} s | {cost.partition * 1000:.1f} ms |"
            f" {cost.row * 1e6:.2f} s |"
            for engine, cost in costs.items()
        ),
        "",
        f"A session in a JVM of its own, with its first job: {start:.1f} s.",
        "",
        _crossing(costs, "in an open session or over Connect", 0.0),
        _crossing(costs, "with a JVM for each run", start),
    ]
    return "\n".join(lines)


def _crossing(costs: dict[str, Cost], how: str, start: float) -> str:
    """From how many rows a partition on Spark takes less time for a batch of BATCH."""
    for rows in range(0, LARGEST + 1, 100):
        ours = costs["pandas"].of(BATCH, rows)
        if start + costs["spark"].of(BATCH, rows) < ours:
            return (
                f"- {how}: a run of {BATCH} partitions is faster in Spark from about {rows:,} rows "
                f"a partition on ({ours:.1f} s)."
            )
    return (
        f"- {how}: a run of {BATCH} partitions is faster in this process at every size up to "
        f"{LARGEST:,} rows a partition."
    )


def _fit(
    cases: tuple[tuple[int, int], ...], best: dict[tuple[str, int], float], engine: str
) -> Cost:
    """The costs by least squares of the relative errors; none is below nothing."""
    taken = np.array([best[engine, rows] for rows, _ in cases])
    facts = np.array([[1.0, count, count * rows] for rows, count in cases])
    found, *_ = np.linalg.lstsq(facts / taken[:, None], np.ones(len(cases)), rcond=None)
    batch, partition, row = (max(0.0, float(each)) for each in found)
    return Cost(batch=batch, partition=partition, row=row)


def _land(landing: Path, rows: int, count: int) -> list[Partition]:
    """So many partitions of so many rows; the sizes have years of their own."""
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


def _settings(home: Path, url: str, **changes: object) -> Settings:
    return load_settings(
        home=home,
        database_url=url,
        regions=(PARTITION.region,),
        first_date=PARTITION.date - timedelta(days=3_000),
        as_of=PARTITION.date,
        seam=PARTITION.date,
        slots=CORES + 2,
        nightly_peak=0,
        **changes,
    )


def _run(
    settings: Settings, partitions: list[Partition], rows: int, opens: OpenSpark | None
) -> float:
    """Seconds of one batch, from its first look at the database to its last outcome."""
    began = time.monotonic()
    with open_wiring(settings, workload=Workload.BACKFILL, run_id="bench") as wiring:
        request = wiring.request(reprocess=True)
        outcomes: list[Any] = run_batch_of(settings, opens)(
            partitions, request, wiring.ports, lambda outcome: None
        )
    taken = time.monotonic() - began
    assert len(outcomes) == len(partitions)
    for outcome in outcomes:
        assert isinstance(outcome, Written), outcome
        assert outcome.fingerprint.rows == rows
    return taken


def _spark_version() -> str:
    from importlib.metadata import version

    return version("pyspark")


if __name__ == "__main__":
    sys.exit(main())
