"""A landed Parquet file obeys the same rules, by the types of its columns."""

from __future__ import annotations

import io
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forecast_backfill.core.source import LINE_COLUMNS, FaultCode
from forecast_backfill.engines.pandas_engine import prepare
from forecast_backfill.ports import Prepared
from forecast_backfill_tests.engines.sources import (
    LINES,
    csv_of,
    dimensions,
    faults_of,
    prepared,
    source_of,
)


def _table(**replaced: Any) -> bytes:
    cells = zip(*(line.split(",") for line in LINES), strict=True)
    columns = {name: pa.array(list(each)) for name, each in zip(LINE_COLUMNS, cells, strict=True)}
    columns["quantity"] = columns["quantity"].cast(pa.int32())
    for name in ("sales_value", "retail_discount", "coupon_discount"):
        columns[name] = columns[name].cast(pa.decimal128(18, 2))
    sink = io.BytesIO()
    pq.write_table(pa.table(columns | replaced), sink)
    return sink.getvalue()


def _source(content: bytes) -> Any:
    return source_of(content, name="sales.parquet")


def test_a_parquet_file_gives_the_rows_of_the_same_lines_as_csv() -> None:
    plain = prepared(source_of(csv_of(LINES)))
    assert prepared(_source(_table())).fingerprint == plain.fingerprint


def test_an_instant_with_a_time_zone_is_taken_at_its_local_date() -> None:
    late = datetime(2026, 3, 1, 23, 59, tzinfo=ZoneInfo("America/New_York"))
    instants = pa.array([late] * 4, pa.timestamp("us", tz="America/New_York"))
    assert prepared(_source(_table(sold_at=instants))).totals.lines == 4


@pytest.mark.parametrize(
    ("column", "values", "found"),
    [
        ("quantity", pa.array([1.0] * 4), "double"),
        ("sales_value", pa.array([1.0] * 4), "double"),
        ("product_id", pa.array([1001] * 4), "int64"),
        ("sold_at", pa.array([0] * 4, pa.timestamp("us")), "timestamp[us]"),
    ],
)
def test_a_column_of_another_type_is_refused(column: str, values: pa.Array, found: str) -> None:
    faults = faults_of(_source(_table(**{column: values})))
    assert faults == [(FaultCode.COLUMN_TYPE, None, column, found)]


def test_a_missing_value_is_refused_at_its_line() -> None:
    content = _table(product_id=pa.array(["1001", None, "1001", "1001"]))
    assert faults_of(_source(content)) == [(FaultCode.VALUE_MISSING, 3, "product_id", "")]


def test_a_nul_in_a_code_is_refused() -> None:
    content = _table(product_id=pa.array(["1001", "N\0", "1001", "1001"]))
    assert faults_of(_source(content)) == [(FaultCode.NUL_BYTE, None, "product_id", "00")]


@pytest.mark.parametrize("content", [_table()[:-9], b"PAR1", csv_of(LINES)])
def test_bytes_that_are_no_parquet_file_are_refused(content: bytes) -> None:
    assert faults_of(_source(content))[0][0] is FaultCode.FILE_UNREADABLE


WHOLE = _table()


@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 255))
@settings(max_examples=200, deadline=None)
def test_a_flipped_byte_never_raises_and_keeps_the_totals(position: int, flip: int) -> None:
    content = bytearray(WHOLE)
    content[position] ^= flip
    result = prepare(_source(bytes(content)), dimensions())
    if isinstance(result, Prepared):
        assert (result.totals.units, result.totals.revenue_cents) == (7, 1125)
