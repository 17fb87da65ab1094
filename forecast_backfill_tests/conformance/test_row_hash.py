"""The engine's vectorised row hash equals the core's, value by value."""

from __future__ import annotations

from datetime import date as Date
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from forecast_backfill.core.fingerprint import CHECKSUM_COLUMNS, Fingerprint, row_hash
from forecast_backfill.core.partition import Partition
from forecast_backfill.engines.fingerprint import fingerprint_of, row_hashes

PARTITION = Partition(date=Date(2026, 3, 1), region="R01")
TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
INTEGER = st.integers(-(2**63), 2**63 - 1)
TYPES = {
    "store_id": pa.string(),
    "product_id": pa.string(),
    "demand_group": pa.string(),
    "units": pa.int64(),
    "revenue_cents": pa.int64(),
    "discount_cents": pa.int64(),
    "baskets": pa.int64(),
    "list_price_cents": pa.int64(),
    "on_display": pa.bool_(),
    "on_mailer": pa.bool_(),
}
ROW = st.fixed_dictionaries(
    {
        "store_id": TEXT,
        "product_id": TEXT | st.text("ab", min_size=250, max_size=260),
        "demand_group": TEXT,
        "units": st.integers(-(2**40), 2**40),
        "revenue_cents": st.integers(-(2**40), 2**40),
        "discount_cents": INTEGER,
        "baskets": INTEGER,
        "list_price_cents": INTEGER | st.none(),
        "on_display": st.booleans() | st.none(),
        "on_mailer": st.booleans() | st.none(),
    }
)


def _expected(row: dict[str, Any]) -> int:
    whole = {"date": "2026-03-01", "region": "R01", **row}
    return row_hash([whole[name] for name in CHECKSUM_COLUMNS])


@given(st.lists(ROW, max_size=8))
@settings(max_examples=150, deadline=None)
def test_the_vectorised_hash_and_fingerprint_are_those_of_the_core(
    rows: list[dict[str, Any]],
) -> None:
    table = pa.Table.from_pylist(rows, schema=pa.schema(TYPES))
    hashes = row_hashes(table, PARTITION)
    assert hashes.tolist() == [_expected(row) for row in rows]
    assert fingerprint_of(table, hashes) == Fingerprint(
        rows=len(rows),
        checksum=sum(_expected(row) for row in rows),
        units=sum(row["units"] for row in rows),
        revenue_cents=sum(row["revenue_cents"] for row in rows),
        stores=len({row["store_id"] for row in rows}),
        products=len({row["product_id"] for row in rows}),
    )
