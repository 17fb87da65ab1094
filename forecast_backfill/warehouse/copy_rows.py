"""Writes the rows of a partition by binary COPY."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from datetime import date as Date
from typing import Any

import psycopg
import pyarrow as pa

from forecast_backfill.core.partition import Partition
from forecast_backfill.core.version import Version
from forecast_backfill.ports import StreamedRows
from forecast_backfill.warehouse.binary_rows import CHUNK_ROWS, SIGNATURE, TRAILER, encode_rows

_GROUPS = (
    ("store_id", "product_id", "demand_group"),
    ("units", "revenue_cents", "discount_cents", "baskets", "row_hash"),
    # On their own: only among these can a value be missing, which costs more to encode.
    ("list_price_cents", "on_display", "on_mailer"),
)
ROW_COLUMNS: tuple[str, ...] = tuple(name for names in _GROUPS for name in names)
"""The columns of an engine's rows; the warehouse adds partition and version."""

_CONSTANT_COLUMNS = ("date", "region", "authority", "source_version")
_FIRST_DAY = Date(2000, 1, 1)
"""The day from which PostgreSQL counts dates."""


def pieces_of(rows: pa.Table | StreamedRows) -> Iterator[pa.Table]:
    """The rows piece by piece: a table is one."""
    return rows.pieces() if isinstance(rows, StreamedRows) else iter((rows,))


def copy_rows(
    connection: psycopg.Connection[Any],
    partition: Partition,
    rows: pa.Table | StreamedRows,
    version: Version,
    table: str = "daily_demand",
    chunk_rows: int = CHUNK_ROWS,
) -> None:
    """Append `rows` to the partition, `chunk_rows` at a time, with its key and version in each."""
    constants = (
        struct.pack(">i", (partition.date - _FIRST_DAY).days),
        partition.region.encode(),
        struct.pack(">h", int(version.authority)),
        struct.pack(">q", version.source_version),
    )
    columns = ", ".join((*_CONSTANT_COLUMNS, *ROW_COLUMNS))
    statement = f"COPY {table} ({columns}) FROM STDIN (FORMAT binary)"
    with connection.cursor() as cursor, cursor.copy(statement.encode()) as copy:
        copy.write(SIGNATURE)
        for piece in pieces_of(rows):
            for chunk in encode_rows(piece, constants, _GROUPS, chunk_rows):
                copy.write(chunk)
        copy.write(TRAILER)
