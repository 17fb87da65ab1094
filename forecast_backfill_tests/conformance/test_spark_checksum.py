"""Spark's own functions read the fingerprint that the core defines, row by row and in sum."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date
from typing import Any

import pyarrow as pa
import pytest

from forecast_backfill.core.fingerprint import CHECKSUM_COLUMNS, Fingerprint, row_hash
from forecast_backfill.engines.spark_checksum import spark_fingerprint, spark_row_hash
from forecast_backfill.wiring.batch import OpenSpark

TEXTS = [
    "",
    "a",
    "-",
    "1:a",
    "NA",
    "nan",
    "null",
    "é",
    "e\u0301",
    "產品",
    "🛒",
    " ",
    "x" * 300,
    "\\N",
]
INTEGERS = [0, 1, -1, 9, 10, -10, 99, 10**12, 2**63 - 1, -(2**63), 2**53 + 1]
SMALL = [value for value in INTEGERS if abs(value) < 2**56]
SCHEMA = pa.schema(
    {
        "date": pa.date32(),
        "region": pa.string(),
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
)


def rows_of(count: int) -> list[dict[str, Any]]:
    """Rows of odd values, always the same ones."""
    dice = random.Random(20261129)
    return [
        {
            "date": date(2026, 3, dice.randint(1, 31)),
            "region": dice.choice(["R01", "R02"]),
            "store_id": dice.choice(TEXTS),
            "product_id": dice.choice(TEXTS),
            "demand_group": dice.choice(TEXTS),
            "units": dice.choice(SMALL),
            "revenue_cents": dice.choice(INTEGERS),
            "discount_cents": dice.choice(INTEGERS),
            "baskets": dice.choice(INTEGERS),
            "list_price_cents": dice.choice([None, *INTEGERS]),
            "on_display": dice.choice([None, True, False]),
            "on_mailer": dice.choice([None, True, False]),
        }
        for _ in range(count)
    ]


def expected_hash(row: dict[str, Any]) -> int:
    """By the core's definition."""
    values = row | {"date": row["date"].isoformat()}
    return row_hash([values[name] for name in CHECKSUM_COLUMNS])


@pytest.fixture(scope="module")
def session(connected: OpenSpark) -> Iterator[Any]:
    """A session of the Connect server."""
    with connected() as session:
        yield session


def test_every_row_has_the_hash_that_the_core_gives_it(session: Any) -> None:
    rows = rows_of(200)
    frame = session.createDataFrame(pa.Table.from_pylist(rows, schema=SCHEMA))
    found = frame.select("*", spark_row_hash(frame).alias("hash")).collect()
    assert [int(row["hash"]) for row in found] == [
        expected_hash({name: row[name] for name in CHECKSUM_COLUMNS}) for row in found
    ]
    assert sorted(int(row["hash"]) for row in found) == sorted(map(expected_hash, rows))


def test_the_sums_are_exact_beyond_64_bits(session: Any) -> None:
    rows = rows_of(300)
    found = spark_fingerprint(session.createDataFrame(pa.Table.from_pylist(rows, schema=SCHEMA)))
    assert found == Fingerprint(
        rows=300,
        checksum=sum(map(expected_hash, rows)),
        units=sum(row["units"] for row in rows),
        revenue_cents=sum(row["revenue_cents"] for row in rows),
        stores=len({row["store_id"] for row in rows}),
        products=len({row["product_id"] for row in rows}),
    )
    assert found.checksum > 2**63


def test_no_row_at_all_has_the_fingerprint_of_an_empty_day(session: Any) -> None:
    frame = session.createDataFrame(pa.Table.from_pylist(rows_of(1), schema=SCHEMA))
    found = spark_fingerprint(frame.where("false"))
    assert found == Fingerprint(rows=0, checksum=0, units=0, revenue_cents=0, stores=0, products=0)
