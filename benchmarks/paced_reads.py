"""Readers of one partition each, at times that are fixed beforehand, and a reader with a report."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import psycopg

from forecast_backfill.core.partition import Partition

READERS, QUERIES_A_SECOND = 4, 100
READ = (
    "SELECT count(*) FROM forecast_backfill.daily_demand_for_readers "
    "WHERE date = %s AND region = %s"
)


@dataclass(kw_only=True)
class Reads:
    """When each read was due, and how many seconds after that it was answered."""

    seconds: list[tuple[float, float]] = field(default_factory=list)

    def worst(self) -> float:
        return max(each for _, each in self.seconds)

    def p99(self) -> float:
        return sorted(each for _, each in self.seconds)[int(len(self.seconds) * 0.99)]


def read_at_a_pace(
    url: str, partitions: Sequence[Partition], reads: Reads, over: threading.Event
) -> None:
    """One reader's share of the queries, each at its time."""
    period, number, began = READERS / QUERIES_A_SECOND, 0, time.monotonic()
    with psycopg.connect(url, autocommit=True) as connection:
        while not over.is_set():
            due = began + number * period
            time.sleep(max(0.0, due - time.monotonic()))
            each = partitions[number * 7 % len(partitions)]
            connection.execute(READ, (each.date, each.region)).fetchall()
            reads.seconds.append((due, time.monotonic() - due))
            number += 1


def hold_again_and_again(url: str, over: threading.Event) -> None:
    """A reader with a report: it keeps its transaction open for 1.5 s, then rests for 1 s."""
    with psycopg.connect(url, application_name="report") as connection:
        while not over.is_set():
            connection.execute("SELECT 1 FROM forecast_backfill.daily_demand_for_readers LIMIT 1")
            over.wait(1.5)
            connection.rollback()
            over.wait(1.0)


@contextmanager
def readers(
    url: str, partitions: Sequence[Partition], *, has_report: bool = False
) -> Iterator[Reads]:
    """Readers at 100 queries a second for the block."""
    over, reads = threading.Event(), Reads()
    threads = [
        threading.Thread(target=read_at_a_pace, args=(url, partitions[number:], reads, over))
        for number in range(READERS)
    ]
    if has_report:
        threads.append(threading.Thread(target=hold_again_and_again, args=(url, over)))
    for thread in threads:
        thread.start()
    try:
        yield reads
    finally:
        over.set()
        for thread in threads:
            thread.join()
