"""Writes the rows of a partition by COPY, encoded column by column."""

from __future__ import annotations

from typing import Any

import psycopg
import pyarrow as pa
from pyarrow import csv

from forecast_backfill.core.partition import Partition
from forecast_backfill.core.version import Version

ROW_COLUMNS: tuple[str, ...] = (
    "store_id",
    "product_id",
    "demand_group",
    "units",
    "revenue_cents",
    "discount_cents",
    "baskets",
    "list_price_cents",
    "on_display",
    "on_mailer",
    "row_hash",
)
"""The columns of an engine's rows; the warehouse adds partition and version."""

_COPY = (
    f"COPY daily_demand ({', '.join(ROW_COLUMNS)}, date, region, authority, source_version) "
    "FROM STDIN (FORMAT csv)"
)


def copy_rows(
    connection: psycopg.Connection[Any], partition: Partition, rows: pa.Table, version: Version
) -> None:
    """Append `rows` to the partition, with its key and version in every row."""
    count = rows.num_rows
    table = rows.select(ROW_COLUMNS)
    for name, value in (
        ("date", pa.scalar(partition.date)),
        ("region", pa.scalar(partition.region)),
        ("authority", pa.scalar(int(version.authority))),
        ("source_version", pa.scalar(version.source_version)),
    ):
        table = table.append_column(name, pa.repeat(value, count))
    # Every text is quoted and nothing else is: an unquoted empty field is missing, "" is empty.
    sink = pa.BufferOutputStream()
    csv.write_csv(table, sink, csv.WriteOptions(include_header=False, quoting_style="needed"))
    with connection.cursor() as cursor, cursor.copy(_COPY) as copy:
        copy.write(memoryview(sink.getvalue()))
