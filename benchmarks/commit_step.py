"""Measures the commit step of one partition against bare COPY of the same rows.

Run as `python benchmarks/commit_step.py`; starts a server of its own and removes it afterwards.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pyarrow as pa

from forecast_backfill.core.fingerprint import row_hash
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.source import ControlTotals
from forecast_backfill.core.states import Workload
from forecast_backfill.core.version import Authority, Version
from forecast_backfill.ports import Completion, OutputIdentity, RunRequest
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.copy_rows import ROW_COLUMNS
from forecast_backfill.warehouse.embedded import EmbeddedServer
from forecast_backfill.warehouse.ledger import PostgresLedger
from forecast_backfill.warehouse.migrate import migrate
from forecast_backfill.warehouse.partitions import PostgresWarehouse

PARTITION = Partition(date=date(2026, 11, 1), region="R07")
VERSION = Version(authority=Authority.BACKFILL, source_version=1_700_000_000_000_000)
REQUEST = RunRequest(workload=Workload.BACKFILL, run_id="bench", campaign_id=None, epoch=1)
TYPES = [
    *("text", "text", "text", "int8", "int8", "int8", "int8", "int8", "bool", "bool", "int8"),
    *("date", "text", "int2", "int8"),
]
TARGETS = f"{', '.join(ROW_COLUMNS)}, date, region, authority, source_version"


def build_rows(count: int, seed: int) -> pa.Table:
    """Rows as an engine hands them over, sorted by key, of about 85 bytes."""
    random = np.random.default_rng(seed)
    numbers = {
        "units": random.integers(1, 9, count),
        "revenue_cents": random.integers(50, 3000, count),
        "discount_cents": random.integers(0, 99, count),
        "baskets": random.integers(1, 5, count),
        "list_price_cents": pa.array(
            random.integers(50, 900, count), mask=random.random(count) < 0.2
        ),
        "on_display": pa.array(random.random(count) < 0.5, mask=random.random(count) < 0.3),
        "on_mailer": pa.array(random.random(count) < 0.5),
    }
    columns = {
        "store_id": pa.array([str(300 + index // 500) for index in range(count)]),
        "product_id": pa.array([str(1_000_000 + index % 500 * 7) for index in range(count)]),
        "demand_group": pa.array(["FLUID MILK PRODUCTS"] * count),
        **numbers,
    }
    table = pa.table(columns)
    key = (PARTITION.date.isoformat(), PARTITION.region)
    hashes = [row_hash((*key, *row.values())) for row in table.to_pylist()]
    return table.append_column("row_hash", pa.array(hashes, pa.int64()))


def bare_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """The same rows as tuples, with partition and version."""
    tail = (PARTITION.date, PARTITION.region, int(VERSION.authority), VERSION.source_version)
    return [(*row.values(), *tail) for row in table.to_pylist()]


def copy_tuples(connection: psycopg.Connection[Any], rows: list[tuple[Any, ...]]) -> None:
    """Binary COPY, encoded by psycopg row by row."""
    statement = f"COPY bare ({TARGETS}) FROM STDIN (FORMAT binary)"
    with connection.cursor() as cursor, cursor.copy(statement.encode()) as copy:
        copy.set_types(TYPES)
        for row in rows:
            copy.write_row(row)


def copy_encoded(connection: psycopg.Connection[Any], encoded: bytes) -> None:
    """Binary COPY of bytes that were encoded before."""
    statement = f"COPY bare ({TARGETS}) FROM STDIN (FORMAT binary)"
    with connection.cursor() as cursor, cursor.copy(statement.encode()) as copy:
        copy.write(encoded)


def commit_step(session: Session, table: pa.Table, completion: Completion) -> None:
    """Lease, epoch, delete, copy, fingerprint, ledger, event, commit; the start is not in it."""
    with PostgresWarehouse(session).transaction(PARTITION, REQUEST) as transaction:
        transaction.take_lease()
        transaction.hold_epoch()
        transaction.replace(table, VERSION)
        fingerprint = transaction.fingerprint()
        transaction.complete(replace(completion, fingerprint=fingerprint))


def measure(prepare: Callable[[], object], work: Callable[[], object], repeats: int) -> float:
    """The median milliseconds of `work`, each after `prepare`."""
    seconds: list[float] = []
    for _ in range(repeats):
        prepare()
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds) * 1000


def figures(url: str, count: int, repeats: int) -> dict[str, float]:
    """The milliseconds of every way to write `count` rows."""
    table, other = build_rows(count, 1), build_rows(count, 2)
    rows = bare_rows(table)
    session = Session(url, Workload.BACKFILL, Settings())
    ledger = PostgresLedger(session)
    found: dict[str, float] = {}
    with session.use() as connection:
        connection.execute("DROP TABLE IF EXISTS bare; CREATE TABLE bare (LIKE daily_demand)")
        connection.execute("DELETE FROM daily_demand")
        connection.execute("DELETE FROM partition_ledger")

        def empty() -> None:
            connection.execute("TRUNCATE bare")

        found["binary COPY, encoded row by row"] = measure(
            empty, lambda: copy_tuples(connection, rows), repeats
        )
        out = f"COPY bare ({TARGETS}) TO STDOUT (FORMAT binary)"
        with connection.cursor() as cursor, cursor.copy(out.encode()) as copy:
            encoded = b"".join(bytes(part) for part in copy)
        found["binary COPY, encoded before"] = measure(
            empty, lambda: copy_encoded(connection, encoded), repeats
        )
        connection.execute("DROP TABLE bare")
        completion = Completion(
            identity=OutputIdentity(source_digest="s", code_version="c", dimension_version="d"),
            fingerprint=None,  # type: ignore[arg-type]
            totals=ControlTotals(lines=count, units=0, revenue_cents=0, stores=0),
            exclusions={},
            version=VERSION,
            replaced_rows=0,
            seconds=0.0,
        )

        def first() -> None:
            connection.execute("TRUNCATE daily_demand")
            ledger.start(PARTITION, REQUEST)

        found["commit step, first write"] = measure(
            first, lambda: commit_step(session, table, completion), repeats
        )
        turns = iter([other, table] * repeats)
        connection.execute("VACUUM ANALYZE daily_demand")
        found["commit step, replacing as many rows"] = measure(
            lambda: ledger.start(PARTITION, REQUEST),
            lambda: commit_step(session, next(turns), completion),
            repeats,
        )
    session.close()
    return found


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory(prefix="fb-", ignore_cleanup_errors=True) as home:
        server = EmbeddedServer(Path(home))
        try:
            url = server.start()
            migrate(url)
            for count, repeats in ((100, 50), (5_000, 15), (50_000, 9)):
                found = figures(url, count, repeats)
                bare = found["binary COPY, encoded before"]
                sys.stdout.write(f"\n{count} rows, median of {repeats}\n")
                for name, milliseconds in found.items():
                    sys.stdout.write(
                        f"  {name:38} {milliseconds:8.1f} ms {milliseconds / bare:5.1f} x\n"
                    )
        finally:
            server.stop()


if __name__ == "__main__":
    main()
