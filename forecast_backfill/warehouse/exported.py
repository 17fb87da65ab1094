"""What an export reads of PostgreSQL: ledger and rows of `daily_demand`, in one snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
import pyarrow as pa
from psycopg.rows import tuple_row

from forecast_backfill.core.export import Recorded
from forecast_backfill.core.fingerprint import CHECKSUM_COLUMNS, Fingerprint
from forecast_backfill.core.partition import DateRange, Partition
from forecast_backfill.core.states import OutputState, PartitionStatus
from forecast_backfill.core.stored_in import is_in_lakehouse
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.digests import begin_snapshot
from forecast_backfill.warehouse.statements import statements

FETCHED_ROWS = 16_384
_TEXTS, _FLAGS = ("store_id", "product_id", "demand_group"), ("on_display", "on_mailer")
_TYPES = {**dict.fromkeys(_TEXTS, pa.string()), **dict.fromkeys(_FLAGS, pa.bool_())}
EXPORT_SCHEMA = pa.schema(
    [
        (name, _TYPES.get(name, pa.int64()))
        for name in CHECKSUM_COLUMNS
        if name not in ("date", "region")
    ]
)
"""The columns of a file: what the fingerprint covers, so that a data version says all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRows:
    """Rows of one partition that are read as they are asked for; `num_rows` is the ledger's."""

    connection: psycopg.Connection[Any]
    partition: Partition
    num_rows: int

    def pieces(self) -> Iterator[pa.Table]:
        """The rows in their order, some thousands at a time."""
        key = {"date": self.partition.date, "region": self.partition.region}
        with self.connection.cursor("export_rows", row_factory=tuple_row) as cursor:
            cursor.execute(statements().export_rows.sql, key)
            while rows := cursor.fetchmany(FETCHED_ROWS):
                columns = zip(EXPORT_SCHEMA, zip(*rows, strict=True), strict=True)
                arrays = [pa.array(values, field.type) for field, values in columns]
                yield pa.table(arrays, schema=EXPORT_SCHEMA)


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresExportView:
    """Ledger and rows by one snapshot."""

    connection: psycopg.Connection[Any]
    recorded: Mapping[Partition, Recorded]

    def rows(self, partition: Partition) -> StoredRows:
        """The partition's rows, sorted by store and product."""
        fingerprint = self.recorded[partition].fingerprint
        rows = 0 if fingerprint is None else fingerprint.rows
        return StoredRows(connection=self.connection, partition=partition, num_rows=rows)


class PostgresExport:
    """`daily_demand` in PostgreSQL, for reading only."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @contextmanager
    def view(self, dates: DateRange) -> Iterator[PostgresExportView]:
        """One snapshot, held as long as the block lasts."""
        with self._session.transaction() as connection:
            begin_snapshot(connection)
            recorded = read_recorded(connection, dates, is_lakehouse=False)
            yield PostgresExportView(connection=connection, recorded=recorded)


def read_recorded(
    connection: psycopg.Connection[Any], dates: DateRange, *, is_lakehouse: bool
) -> dict[Partition, Recorded]:
    """The ledger of the dates in this snapshot; `is_lakehouse`: that is where rows are read."""
    rows = statements().export_ledger(connection, start=dates.start, end=dates.end)
    found = (_recorded(row, is_lakehouse) for row in rows)
    return {each.partition: each for each in found}


def _recorded(row: Mapping[str, Any], is_lakehouse: bool) -> Recorded:
    names = ("rows", "checksum", "units", "revenue_cents", "stores", "products")
    fingerprint = None
    if row["rows"] is not None:
        fingerprint = Fingerprint(**{name: int(row[name]) for name in names})
    return Recorded(
        partition=Partition(date=row["date"], region=row["region"]),
        status=PartitionStatus(row["status"]),
        output=OutputState(row["output"]),
        reason=row["reason"],
        fingerprint=fingerprint,
        is_elsewhere=is_in_lakehouse(row["code_version"]) != is_lakehouse,
    )
