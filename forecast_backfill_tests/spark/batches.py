"""Batches on Spark over the hand-made campaigns, and how to stop one of their partitions."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import psycopg

from forecast_backfill.core.outcome import Outcome
from forecast_backfill.core.partition import DateRange, Partition, partitions_of
from forecast_backfill.core.states import Workload
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.fences import key_of
from forecast_backfill.wiring.batch import OpenSpark, run_batch_of
from forecast_backfill.wiring.partition import open_wiring
from forecast_backfill_tests.app.campaigns import (
    FIRST,
    PRODUCTS,
    good_lines,
    land_campaign,
    settings_for,
)
from forecast_backfill_tests.landing.hand_made import land_dimensions
from forecast_backfill_tests.landing.parts import land_in_parts
from forecast_backfill_tests.spark.servers import CHECKOUT, wait_until

PARTITIONS = tuple(
    partitions_of(DateRange(start=FIRST, end=FIRST + timedelta(days=5)), ["R01", "R02"])
)

LARGE = PARTITIONS[0]

CLIENT = """
import json, sys
from pathlib import Path

from forecast_backfill_tests.spark.batches import landed, run

url, home, master, changes = sys.argv[1:]
run(landed(url, Path(home), master, **json.loads(changes)))
"""


def landed(url: str, home: Path, master: str, **changes: object) -> Settings:
    """The campaign landed, and the settings to run it in Spark."""
    land_campaign(home, PARTITIONS)
    return settings_for(url, home, engine="spark", spark_master=master, **changes)


def landed_large(url: str, home: Path, master: str) -> Settings:
    """One delivery in two parts, and the settings with which it is spread."""
    lines = [{**line, "line_id": n} for n, line in enumerate(good_lines(LARGE) * 2, start=1)]
    land_dimensions(home / "landing", products=PRODUCTS, stores=[("s1", "R01")])
    land_in_parts(home / "landing", LARGE, [lines[:5], lines[5:]])
    return settings_for(url, home, engine="spark", spark_master=master, spark_spread_lines=1)


def run(
    settings: Settings,
    partitions: Sequence[Partition] = PARTITIONS,
    run_id: str = "5f0c",
    *,
    open_spark: OpenSpark | None = None,
    workload: Workload = Workload.BACKFILL,
) -> list[Outcome]:
    """Run the partitions; the outcomes by partition."""
    with open_wiring(settings, workload=workload, run_id=run_id) as wiring:
        request = wiring.request(campaign_id="spark")
        run_batch = run_batch_of(settings, open_spark)
        outcomes = run_batch(partitions, request, wiring.ports, lambda outcome: None)
    return sorted(outcomes, key=lambda outcome: outcome.partition)


@dataclass(slots=True)
class Background:
    """A batch in a thread of its own; `outcomes` or `error` once it is over."""

    settings: Settings
    open_spark: OpenSpark | None = None
    partitions: Sequence[Partition] = PARTITIONS
    outcomes: list[Outcome] = field(default_factory=list)
    error: BaseException | None = None
    thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def wait_until_running(self, partition: Partition) -> None:
        """Until the partition is at work."""

        def is_running() -> bool:
            if not self.thread.is_alive():
                raise AssertionError(f"the batch is over: {self.error!r}, {self.outcomes}")
            return statuses(str(self.settings.database_url)).get(partition) == "running"

        wait_until(is_running, f"{partition} was never at work")

    def _run(self) -> None:
        try:
            self.outcomes = run(self.settings, self.partitions, open_spark=self.open_spark)
        except BaseException as error:  # noqa: BLE001 — the test looks at it
            self.error = error


def kill_client(url: str, home: Path, master: str, *, at: Partition, **changes: object) -> None:
    """A client in a process of its own, killed once `at` is at work; the server runs on."""
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, url, str(home), master, json.dumps(changes)],
        env=os.environ | {"PYTHONPATH": str(CHECKOUT)},
    )
    wait_until(lambda: statuses(url).get(at) == "running", "nothing began")
    client.send_signal(signal.SIGKILL)
    client.wait()


@contextmanager
def lease_held(url: str, partition: Partition) -> Iterator[None]:
    """The partition's lease is held: whoever comes to it waits there, at most the lock timeout."""
    with psycopg.connect(url) as connection:
        key = key_of(f"{partition.date}|{partition.region}")
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (key,))
        yield


def statuses(url: str) -> dict[Partition, str]:
    """The status of every partition that the ledger has."""
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "SELECT date, region, status FROM forecast_backfill.partition_ledger"
        ).fetchall()
    return {Partition(date=day, region=region): status for day, region, status in found}


def written(url: str) -> dict[Partition, int]:
    """How often each partition was written."""
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "SELECT date, region, count(*) FROM forecast_backfill.partition_event"
            " WHERE kind = 'written' GROUP BY date, region"
        ).fetchall()
    return {Partition(date=day, region=region): count for day, region, count in found}


def slots_held(url: str) -> int:
    """How many advisory locks anybody holds in the database."""
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        ).fetchone()
    assert row is not None
    return int(row[0])
