"""Rows of `daily_demand` and requests, as the tests of the warehouse need them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from typing import Any

import psycopg
import pyarrow as pa

from forecast_backfill.core.fingerprint import Fingerprint, row_hash
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.source import ControlTotals
from forecast_backfill.core.states import Workload
from forecast_backfill.core.version import Authority, Version
from forecast_backfill.ports import Completion, OutputIdentity, RunRequest
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.ledger import PostgresLedger
from forecast_backfill.warehouse.partitions import PostgresWarehouse

PARTITION = Partition(date=date(2026, 11, 1), region="R07")
VERSION = Version(authority=Authority.BACKFILL, source_version=1_700_000_000_000_000)
REQUEST = RunRequest(workload=Workload.BACKFILL, run_id="run-1", campaign_id="c-1", epoch=1)
IDENTITY = OutputIdentity(source_digest="s1", code_version="v1", dimension_version="d1")
SCHEMA = pa.schema(
    [("store_id", pa.string()), ("product_id", pa.string()), ("demand_group", pa.string())]
    + [(name, pa.int64()) for name in ("units", "revenue_cents", "discount_cents", "baskets")]
    + [("list_price_cents", pa.int64()), ("on_display", pa.bool_()), ("on_mailer", pa.bool_())]
    + [("row_hash", pa.int64())]
)
_DEFAULTS: dict[str, Any] = {
    "demand_group": "MILK",
    "units": 1,
    "revenue_cents": 100,
    "discount_cents": 0,
    "baskets": 1,
    "list_price_cents": None,
    "on_display": None,
    "on_mailer": None,
}


def table_of(rows: Sequence[Mapping[str, Any]], partition: Partition = PARTITION) -> pa.Table:
    """A table as an engine hands it over; what a row does not name is a plain default."""
    full = [_DEFAULTS | dict(row) for row in rows]
    for row in full:
        values = [row[name] for name in SCHEMA.names[:-1]]
        row["row_hash"] = row_hash([partition.date.isoformat(), partition.region, *values])
    return pa.Table.from_pylist(full, schema=SCHEMA)


def fingerprint_of(table: pa.Table) -> Fingerprint:
    """The fingerprint of a table, by the reference implementation."""
    rows = table.to_pylist()
    return Fingerprint(
        rows=len(rows),
        checksum=sum(row["row_hash"] for row in rows),
        units=sum(row["units"] for row in rows),
        revenue_cents=sum(row["revenue_cents"] for row in rows),
        stores=len({row["store_id"] for row in rows}),
        products=len({row["product_id"] for row in rows}),
    )


def completion_of(table: pa.Table, identity: OutputIdentity = IDENTITY) -> Completion:
    """What a commit of the table records."""
    fingerprint = fingerprint_of(table)
    totals = ControlTotals(
        lines=fingerprint.rows,
        units=fingerprint.units,
        revenue_cents=fingerprint.revenue_cents,
        stores=fingerprint.stores,
    )
    return Completion(
        identity=identity,
        fingerprint=fingerprint,
        totals=totals,
        exclusions={},
        version=VERSION,
        replaced_rows=0,
        seconds=0.5,
    )


def write(session: Session, table: pa.Table, request: RunRequest = REQUEST) -> int:
    """The commit step of a partition task, from start to commit; how many rows were replaced."""
    PostgresLedger(session).start(PARTITION, request)
    with PostgresWarehouse(session).transaction(PARTITION, request) as transaction:
        transaction.take_lease()
        transaction.hold_epoch()
        replaced = transaction.replace(table, VERSION)
        assert transaction.fingerprint() == fingerprint_of(table)
        transaction.complete(completion_of(table))
    return replaced


@contextmanager
def open_session(url: str, **settings: Any) -> Iterator[Session]:
    """A session of a backfill, closed at the end."""
    session = Session(url, Workload.BACKFILL, Settings(**settings))
    try:
        yield session
    finally:
        session.close()


def fetch(url: str, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    """Rows of one statement, asked on a connection of its own."""
    with psycopg.connect(url, options="-c search_path=forecast_backfill") as connection:
        return connection.execute(statement.encode(), values).fetchall()


def request_of(run_id: str) -> RunRequest:
    """The usual request, by another run."""
    return replace(REQUEST, run_id=run_id)
