"""What holds for every source: order is free, every change is seen, nothing raises."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from forecast_backfill.core.fingerprint import Fingerprint
from forecast_backfill.core.source import LINE_COLUMNS
from forecast_backfill.engines.pandas_engine import prepare
from forecast_backfill.ports import LandedFile, LandedSource, Prepared
from forecast_backfill_tests.engines.sources import (
    LINES,
    csv_of,
    dimensions,
    prepared,
    source_of,
    totals_of,
)

GOOD = csv_of(LINES)
DIMENSIONS = dimensions()
LINE = st.fixed_dictionaries(
    {
        "basket_id": st.sampled_from(["b1", "b2", "ü"]),
        "store_id": st.sampled_from(["0007", "0008"]),
        "product_id": st.sampled_from(["1001", "NA", "2001", "null"]),
        "sold_at": st.just("2026-03-01T09:30:00-05:00"),
        "quantity": st.integers(-3, 9).map(str),
        "sales_value": st.decimals(-99, 999, places=2).map(str),
        "retail_discount": st.decimals(0, 9, places=2).map(str),
        "coupon_discount": st.decimals(0, 9, places=2).map(str),
    }
)


def _source(lines: Sequence[dict[str, str]], columns: Sequence[str]) -> LandedSource:
    body = [",".join(line[name] for name in columns) for line in lines]
    return source_of(csv_of(body, ",".join(columns)), **totals_of(lines))


def _fingerprint(source: LandedSource) -> Fingerprint | None:
    result = prepare(source, DIMENSIONS)
    return result.fingerprint if isinstance(result, Prepared) else None


@given(st.lists(LINE, max_size=12), st.data())
@settings(max_examples=60, deadline=None)
def test_the_order_of_columns_and_of_lines_changes_nothing(
    drawn: list[dict[str, str]], data: st.DataObject
) -> None:
    lines = [{"line_id": str(number), **line} for number, line in enumerate(drawn)]
    mixed = data.draw(st.permutations(lines))
    columns = data.draw(st.permutations(LINE_COLUMNS))
    one, other = prepared(_source(lines, LINE_COLUMNS)), prepared(_source(mixed, columns))
    assert other.rows.equals(one.rows)
    assert (other.fingerprint, other.exclusions) == (one.fingerprint, one.exclusions)


@given(st.lists(LINE, max_size=12))
@settings(max_examples=60, deadline=None)
def test_what_is_stored_and_what_rules_leave_out_make_the_totals(
    drawn: list[dict[str, str]],
) -> None:
    lines = [{"line_id": str(number), **line} for number, line in enumerate(drawn)]
    result = prepared(_source(lines, LINE_COLUMNS))
    left_out = result.exclusions.values()
    units = result.fingerprint.units + sum(each.units for each in left_out)
    cents = result.fingerprint.revenue_cents + sum(each.revenue_cents for each in left_out)
    assert (units, cents) == (result.totals.units, result.totals.revenue_cents)


@given(st.integers(0, len(GOOD) - 1), st.binary(max_size=3), st.booleans())
@settings(max_examples=300, deadline=None)
def test_fuzzed_bytes_under_a_stale_hash_are_refused(position: int, new: bytes, cut: bool) -> None:
    content = GOOD[:position] + new + (b"" if cut else GOOD[position + 1 :])
    source = source_of(GOOD)
    fuzzed = replace(source, files=(LandedFile(name="sales.csv", content=content),))
    assert _fingerprint(fuzzed) == (_fingerprint(source) if content == GOOD else None)


@given(st.integers(0, len(GOOD) - 1), st.binary(max_size=3), st.booleans())
@settings(max_examples=300, deadline=None)
def test_fuzzed_bytes_under_a_true_hash_never_raise_and_keep_the_totals(
    position: int, new: bytes, cut: bool
) -> None:
    content = GOOD[:position] + new + (b"" if cut else GOOD[position + 1 :])
    result = prepare(source_of(content), DIMENSIONS)
    if isinstance(result, Prepared):
        assert (result.totals.lines, result.totals.units) == (4, 7)
        assert (result.totals.revenue_cents, result.totals.stores) == (1125, 2)


CELL = st.one_of(
    st.text(max_size=8),
    st.sampled_from(["", " ", "NA", '"', '""', '"a', "1e3", "1,5", "-0", "\ufeff", "2 ", "\r"]),
)


@given(st.integers(0, 3), st.integers(5, 6), CELL)
@settings(max_examples=200, deadline=None)
def test_a_fuzzed_quantity_or_value_is_refused_or_means_the_same(
    line: int, column: int, cell: str
) -> None:
    cells = LINES[line].split(",")
    cells[column] = cell
    content = csv_of([*LINES[:line], ",".join(cells), *LINES[line + 1 :]])
    found = _fingerprint(source_of(content))
    assert found in (None, _fingerprint(source_of(GOOD)))


@given(st.binary(max_size=40), st.sampled_from(["sales.csv", "sales.csv.gz", "sales.parquet"]))
@settings(max_examples=200, deadline=None)
def test_no_bytes_whatever_raise(content: bytes, name: str) -> None:
    source = source_of(b"", name="sales.csv", sha256=hashlib.sha256(content).hexdigest())
    files = (LandedFile(name=name, content=content),)
    assert _fingerprint(replace(source, files=files)) is None


@given(st.integers(0, 300), st.binary(min_size=1, max_size=2))
@settings(max_examples=200, deadline=None)
def test_a_fuzzed_manifest_never_raises(position: int, new: bytes) -> None:
    manifest = source_of(GOOD).manifest
    assert manifest is not None
    fuzzed = manifest[:position] + new + manifest[position + 1 :]
    result = prepare(replace(source_of(GOOD), manifest=fuzzed), DIMENSIONS)
    if isinstance(result, Prepared):
        assert json.loads(fuzzed)["lines"] == 4
