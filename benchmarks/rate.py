"""Measures the token bucket: what workers that contend for a rate get together, and each of them.

Run as `python -m benchmarks.rate`; starts a server of its own and removes it afterwards. Every
worker is a thread with a connection of its own that asks for partition after partition, as a task
does before its commit, and writes nothing. A partition counts once all of its turns have come.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

from benchmarks.machine import describe_machine
from benchmarks.results import write_section
from forecast_backfill.app.rate import wait_for_rate
from forecast_backfill.core.states import Workload
from forecast_backfill.ports import RunRequest
from forecast_backfill.settings import Settings, load_settings
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.control import change_knobs
from forecast_backfill.warehouse.embedded import EmbeddedServer
from forecast_backfill.warehouse.migrate import migrate
from forecast_backfill.warehouse.rate import PostgresRate
from forecast_backfill.warehouse.waits import PostgresWaits
from forecast_backfill.wiring.partition import SystemClock, control_of

WORKERS = 16
SECONDS = 15.0
CASES = ((1_600, 100), (20_000, 100), (200_000, 5_000))
"""Rows a second, and rows a partition."""
TOLERANCE = 0.05
STARVED = 0.5
"""Whoever got less than this part of an equal share has starved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Rows by worker within `seconds`, and the longest time between two partitions of any."""

    rate: int
    partition_rows: int
    seconds: float
    rows: list[int]
    longest_wait: float

    @property
    def deviation(self) -> float:
        """How far the sum is from the rate, as a part of it."""
        return sum(self.rows) / self.seconds / self.rate - 1

    @property
    def least_share(self) -> float:
        """What the worst-off worker got, as a part of an equal share."""
        return min(self.rows) * len(self.rows) / sum(self.rows)

    @property
    def is_fair(self) -> bool:
        """Whether the sum kept to the rate and nobody starved."""
        return abs(self.deviation) <= TOLERANCE and self.least_share >= STARVED


@dataclass(slots=True)
class Worker:
    """One worker: what it got until the end, and its longest wait."""

    ask: Callable[[], None]
    partition_rows: int
    rows: int = 0
    waits: list[float] = field(default_factory=list)

    def work(self, start: threading.Barrier, seconds: float) -> None:
        """Ask until the time is over; what comes later does not count."""
        start.wait()
        began = last = time.monotonic()
        while True:
            self.ask()
            now = time.monotonic()
            self.waits.append(now - last)
            if now - began > seconds:
                return
            self.rows += self.partition_rows
            last = now


def worker_of(session: Session, settings: Settings, name: str, partition_rows: int) -> Worker:
    """A worker over its own session, under the conditions of this moment."""
    request = RunRequest(workload=Workload.BACKFILL, run_id=name, campaign_id="bench", epoch=1)
    conditions = control_of(settings, session).conditions(Workload.BACKFILL)
    ports = SimpleNamespace(
        rate=PostgresRate(session), waits=PostgresWaits(session), clock=SystemClock()
    )
    return Worker(
        ask=lambda: _must_go(wait_for_rate(partition_rows, request, conditions, ports)),
        partition_rows=partition_rows,
    )


def _must_go(paused: object) -> None:
    assert paused is None


def measure(settings: Settings, url: str, rate: int, partition_rows: int) -> Measured:
    """Let the workers contend for `rate` rows a second."""
    sessions = [Session(url, Workload.BACKFILL, settings) for _ in range(WORKERS)]
    try:
        with sessions[0].use() as connection:
            change_knobs(
                connection, Workload.BACKFILL, "rate", rate=(rate,), reason="x", changed_by="bench"
            )
        workers = [
            worker_of(session, settings, f"worker-{number}", partition_rows)
            for number, session in enumerate(sessions)
        ]
        start = threading.Barrier(WORKERS)
        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(lambda each: each.work(start, SECONDS), workers))
    finally:
        for session in sessions:
            session.close()
    return Measured(
        rate=rate,
        partition_rows=partition_rows,
        seconds=SECONDS,
        rows=[each.rows for each in workers],
        longest_wait=max(max(each.waits) for each in workers),
    )


def section_of(found: list[Measured]) -> str:
    """The section of the results."""
    lines = [
        "## Rate: the token bucket under contention",
        "",
        describe_machine(),
        "- Command: `python -m benchmarks.rate`",
        "",
        f"{WORKERS} workers with a connection each, {SECONDS:.0f} s a line. Aim: the sum within "
        f"{TOLERANCE:.0%} of the rate, and nobody below {STARVED:.0%} of an equal share.",
        "",
        "| rate, rows/s | rows a partition | sum against the rate | least share | most share "
        "| longest wait of anyone |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    for each in found:
        most = max(each.rows) * len(each.rows) / sum(each.rows)
        lines.append(
            f"| {each.rate:,} | {each.partition_rows:,} | {each.deviation:+.1%} | "
            f"{each.least_share:.0%} | {most:.0%} | {each.longest_wait:.1f} s |"
        )
    return "\n".join(lines)


def main() -> int:
    """Run on a server of its own; 1 where the sum or a share missed its aim."""
    with tempfile.TemporaryDirectory(prefix="fb-", ignore_cleanup_errors=True) as home:
        server = EmbeddedServer(Path(home))
        try:
            url = server.start()
            migrate(url)
            settings = load_settings(home=Path(home), database_url=url)
            found = [measure(settings, url, rate, rows) for rate, rows in CASES]
        finally:
            server.stop()
    section = section_of(found)
    sys.stdout.write(f"{section}\n")
    write_section("rate", section)
    return 0 if all(each.is_fair for each in found) else 1


if __name__ == "__main__":
    sys.exit(main())
