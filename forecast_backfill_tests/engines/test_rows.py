"""The rows of `daily_demand`, with literal values."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest

from forecast_backfill.core.parity import Exclusion
from forecast_backfill.engines.pandas_engine import PandasEngine
from forecast_backfill_tests.engines.sources import LINES, csv_of, prepared, source_of

SOLD = "2026-03-01T09:30:00-05:00"

PREPARE_ALONE = """
import hashlib, json, sys
from datetime import date
from types import SimpleNamespace
import numpy as np
import pyarrow as pa
from forecast_backfill.core.partition import Partition
from forecast_backfill.arrow_arrays import booleans, texts
from forecast_backfill.engines.pandas_engine import prepare
from forecast_backfill.ports import LandedFile, LandedSource
head = "line_id,basket_id,store_id,product_id,sold_at,quantity"
head += ",sales_value,retail_discount,coupon_discount"
content = (head + chr(10) + "1,b,7,8,2026-03-01T09:30Z,1,1.00,0.00,0.00" + chr(10)).encode()
manifest = {
    "schema_version": 1, "date": "2026-03-01", "region": "R01", "file": "sales.csv",
    "sha256": hashlib.sha256(content).hexdigest(), "exported_at": "2026-03-02T04:00:00+00:00",
    "lines": 1, "units": 1, "revenue_cents": 100, "stores": 1,
}
source = LandedSource(
    partition=Partition(date=date(2026, 3, 1), region="R01"),
    files=(LandedFile(name="sales.csv", content=content),),
    manifest=json.dumps(manifest).encode(), digest="d",
)
yes, store, product = booleans(np.ones(1, bool)), texts(["7"]), texts(["8"])
keys = {"store_id": store, "product_id": product}
dimensions = SimpleNamespace(
    products=pa.table(
        {"product_id": product, "demand_group": texts(["MILK"]), "exclusion": texts([""])}
    ),
    promotions=pa.table(keys | {"on_display": yes, "on_mailer": yes}),
    promotion_stores=store,
    region_of_store=pa.table({"store_id": store, "region": texts(["R01"])}),
)
rows = prepare(source, dimensions).rows
print(rows.num_rows, sorted({"pandas", "dagster", "pyspark"} & set(sys.modules)))
"""


def _lines(*numbers: tuple[str, str, int, str, str, str]) -> bytes:
    """Lines of store 0007, each as basket, product, quantity, value and the two discounts."""
    return csv_of(
        [
            f"{number},{basket},0007,{product},{SOLD},{quantity},{value},{retail},{coupon}"
            for number, (basket, product, quantity, value, retail, coupon) in enumerate(numbers)
        ]
    )


def test_lines_become_one_row_a_store_and_product_sorted_by_both() -> None:
    rows = prepared(source_of(csv_of(LINES))).rows.drop_columns(["row_hash"])
    assert rows.to_pylist() == [
        {
            "store_id": "0007",
            "product_id": "1001",
            "demand_group": "MILK",
            "units": 3,
            "revenue_cents": 500,
            "discount_cents": 100,
            "baskets": 2,
            "list_price_cents": 200,
            "on_display": True,
            "on_mailer": False,
        },
        {
            "store_id": "0007",
            "product_id": "NA",
            "demand_group": "BREAD",
            "units": 1,
            "revenue_cents": 125,
            "discount_cents": 0,
            "baskets": 1,
            "list_price_cents": 125,
            "on_display": False,
            "on_mailer": False,
        },
        {
            "store_id": "0008",
            "product_id": "1001",
            "demand_group": "MILK",
            "units": 3,
            "revenue_cents": 500,
            "discount_cents": 0,
            "baskets": 1,
            "list_price_cents": None,
            "on_display": None,
            "on_mailer": None,
        },
    ]


def test_the_columns_have_the_types_that_the_warehouse_copies() -> None:
    rows = prepared(source_of(csv_of(LINES))).rows
    assert [(field.name, field.type) for field in rows.schema] == [
        ("store_id", pa.string()),
        ("product_id", pa.string()),
        ("demand_group", pa.string()),
        ("units", pa.int64()),
        ("revenue_cents", pa.int64()),
        ("discount_cents", pa.int64()),
        ("baskets", pa.int64()),
        ("list_price_cents", pa.int64()),
        ("on_display", pa.bool_()),
        ("on_mailer", pa.bool_()),
        ("row_hash", pa.int64()),
    ]


def test_a_day_without_trade_has_the_same_columns_and_no_row() -> None:
    empty = prepared(source_of(csv_of(()), lines=0, units=0, revenue_cents=0, stores=0)).rows
    assert empty.schema == prepared(source_of(csv_of(LINES))).rows.schema


def test_each_rule_that_leaves_lines_out_counts_what_they_carried() -> None:
    content = _lines(
        ("b", "1001", 1, "1.00", "0.00", "0.00"),
        ("b", "1001", 0, "0.10", "0.00", "0.00"),
        ("b", "1001", -2, "-3.00", "0.00", "0.00"),
        ("b", "2001", 9000, "25.00", "0.00", "0.00"),
        ("b", "9999", 3, "4.00", "0.00", "0.00"),
        ("b", "9999", 0, "0.50", "0.00", "0.00"),
    )
    result = prepared(source_of(content, lines=6, units=9002, revenue_cents=2760, stores=1))
    assert result.exclusions == {
        "fuel": Exclusion(lines=1, units=9000, revenue_cents=2500),
        "no_quantity": Exclusion(lines=2, units=-2, revenue_cents=-290),
        "unmatched_product": Exclusion(lines=2, units=3, revenue_cents=450),
    }
    assert (result.fingerprint.units, result.fingerprint.revenue_cents) == (1, 100)


@pytest.mark.parametrize(
    ("lines", "units", "cents", "price"),
    [
        ([("a", 1, "2.00"), ("b", 1, "2.00"), ("c", 1, "3.00")], 3, 700, 200),
        ([("a", 1, "2.00"), ("b", 1, "3.00")], 2, 500, 300),
        ([("a", 3, "1.00"), ("b", 1, "0.40")], 4, 140, 40),
        ([("a", 3, "1.00"), ("b", 3, "1.00")], 6, 200, None),
    ],
)
def test_the_list_price_is_the_most_frequent_exact_one_and_the_highest_on_a_tie(
    lines: list[tuple[str, int, str]], units: int, cents: int, price: int | None
) -> None:
    content = _lines(*((basket, "1001", q, value, "0.00", "0.00") for basket, q, value in lines))
    source = source_of(content, lines=len(lines), units=units, revenue_cents=cents, stores=1)
    assert prepared(source).rows.column("list_price_cents").to_pylist() == [price]


def test_a_basket_counts_once_a_store_and_product() -> None:
    content = _lines(*[(basket, "1001", 1, "1.00", "0.00", "0.00") for basket in "aab"])
    source = source_of(content, lines=3, units=3, revenue_cents=300, stores=1)
    assert prepared(source).rows.column("baskets").to_pylist() == [2]


def test_money_of_sixteen_digits_keeps_its_last_cent() -> None:
    content = _lines(("a", "1001", 1, "12345678901234567.89", "0.01", "0.00"))
    source = source_of(content, lines=1, units=1, revenue_cents=1234567890123456789, stores=1)
    row = prepared(source).rows.to_pylist()[0]
    assert (row["revenue_cents"], row["list_price_cents"]) == (
        1234567890123456789,
        1234567890123456790,
    )


def test_the_code_version_is_a_literal_and_a_digest_of_the_source_text() -> None:
    literal, digest = PandasEngine().code_version.split("-")
    assert (literal, len(digest)) == ("1", 12)


def test_preparing_a_partition_loads_neither_pandas_nor_dagster() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PREPARE_ALONE], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "1 []"
