"""Lands small hand-made deliveries and dimensions for tests."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from datetime import date as Date
from datetime import datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from forecast_backfill.core.partition import Partition
from forecast_backfill.core.source import LINE_COLUMNS, ControlTotals
from forecast_backfill.landing.delivery import manifest_bytes, manifest_fields, pack
from forecast_backfill.landing.layout import (
    PRODUCT_COLUMNS,
    PROMOTION_RECORDED,
    SHELF_PRICE_COLUMNS,
    STORE_REGION_COLUMNS,
    VALIDITY_COLUMNS,
    Layout,
)

LINE_DEFAULTS: dict[str, str] = {
    "basket_id": "b1",
    "store_id": "330",
    "product_id": "1001",
    "quantity": "1",
    "sales_value": "1.00",
    "retail_discount": "0.00",
    "coupon_discount": "0.00",
}
PRODUCT_DEFAULTS: dict[str, str] = {
    "product_id": "1001",
    "department": "GROCERY",
    "category": "MILK",
    "demand_group": "MILK",
    "exclusion": "",
}


def land(
    directory: Path,
    partition: Partition,
    lines: Sequence[Mapping[str, Any]] | None,
    *,
    file_name: str = "sales.csv.gz",
    manifest_overrides: Mapping[str, Any] | None = None,
) -> Path:
    """Land the lines with a true manifest, and return the partition's folder.

    A line takes what it does not name from LINE_DEFAULTS, its `line_id` from its place and its
    `sold_at` from noon of the date. No lines at all (`[]`) is a day without trade; None lands
    nothing. An override replaces a field of the manifest; None as its value removes the field.
    """
    if lines is None:
        return Layout(directory=directory).partition(partition)
    filled = [_fill(partition, number, line) for number, line in enumerate(lines, start=1)]
    if file_name == "sales.parquet":
        content = _parquet_of(filled)
    else:
        rows = [",".join(LINE_COLUMNS)] + [",".join(row[n] for n in LINE_COLUMNS) for row in filled]
        content = "".join(f"{row}\n" for row in rows).encode()
    return land_bytes(
        directory,
        partition,
        content,
        file_name=file_name,
        totals=totals_of(filled),
        manifest_overrides=manifest_overrides,
    )


def land_bytes(
    directory: Path,
    partition: Partition,
    content: bytes,
    *,
    file_name: str = "sales.csv.gz",
    totals: ControlTotals,
    manifest_overrides: Mapping[str, Any] | None = None,
) -> Path:
    """Land these bytes (packed here where the name ends in .gz), with the manifest's true hash."""
    folder = Layout(directory=directory).partition(partition)
    folder.mkdir(parents=True, exist_ok=True)
    landed = pack(content) if file_name.endswith(".gz") else content
    fields = manifest_fields(partition, file=file_name, content=landed, totals=totals)
    for name, value in (manifest_overrides or {}).items():
        if value is None:
            del fields[name]
        else:
            fields[name] = value
    (folder / file_name).write_bytes(landed)
    (folder / "manifest.json").write_bytes(manifest_bytes(fields))
    return folder


def totals_of(lines: Sequence[Mapping[str, str]]) -> ControlTotals:
    """The control totals; a number that is none counts as nothing."""
    return ControlTotals(
        lines=len(lines),
        units=sum(int(_number(line["quantity"])) for line in lines),
        revenue_cents=sum(int(_number(line["sales_value"]) * 100) for line in lines),
        stores=len({line["store_id"] for line in lines}),
    )


def land_dimensions(
    directory: Path,
    products: Sequence[Mapping[str, str] | str] = ("1001",),
    stores: Sequence[tuple[str, ...]] = (("330", "R01"),),
) -> None:
    """Land the two dimensions that every partition needs.

    A product is its id alone, or what differs from PRODUCT_DEFAULTS; a store is (id, region),
    or in all rows (id, region, valid_from, valid_to) with dates as text.
    """
    layout = Layout(directory=directory)
    layout.product.parent.mkdir(parents=True, exist_ok=True)
    rows = [",".join(PRODUCT_COLUMNS)]
    for product in products:
        given = {"product_id": product} if isinstance(product, str) else dict(product)
        rows.append(",".join((PRODUCT_DEFAULTS | given)[name] for name in PRODUCT_COLUMNS))
    layout.product.write_bytes(pack("".join(f"{row}\n" for row in rows).encode()))
    has_dates = any(len(store) > len(STORE_REGION_COLUMNS) for store in stores)
    columns = STORE_REGION_COLUMNS + (VALIDITY_COLUMNS if has_dates else ())
    rows = [",".join(columns)] + [",".join(store) for store in stores]
    layout.store_region.write_text("".join(f"{row}\n" for row in rows))


def land_prices(directory: Path, versions: Sequence[tuple[str, str, str, str, str]]) -> Path:
    """Land the price versions (product, cents, valid_from, valid_to, recorded_at), all as text."""
    path = Layout(directory=directory).shelf_price
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [",".join(SHELF_PRICE_COLUMNS)] + [",".join(version) for version in versions]
    path.write_bytes(pack("".join(f"{row}\n" for row in rows).encode()))
    return path


def land_promotions(
    directory: Path,
    day: Date,
    region: str,
    facts: Sequence[tuple[str, str, bool, bool]],
    *,
    recorded_at: datetime | None = None,
) -> Path:
    """Land the promotion facts (store, product, on display, on mailer) of the week of `day`.

    The file says when they were recorded only where it is given.
    """
    path = Layout(directory=directory).promotion(Partition(date=day, region=region))
    path.parent.mkdir(parents=True, exist_ok=True)
    names = ("store_id", "product_id", "on_display", "on_mailer")
    types = (pa.string(), pa.string(), pa.bool_(), pa.bool_())
    schema = pa.schema(list(zip(names, types, strict=True)))
    rows = [dict(zip(names, fact, strict=True)) for fact in facts]
    table = pa.Table.from_pylist(rows, schema=schema)
    if recorded_at is not None:
        moment = pa.scalar(recorded_at, pa.timestamp("us", "UTC"))
        table = table.append_column(PROMOTION_RECORDED, pa.repeat(moment, len(table)))
    pq.write_table(table, path)
    return path


def _fill(partition: Partition, number: int, line: Mapping[str, Any]) -> dict[str, str]:
    given = {name: str(value) for name, value in line.items()}
    placed = {"line_id": str(number), "sold_at": f"{partition.date.isoformat()}T12:00:00-05:00"}
    return LINE_DEFAULTS | placed | given


def _number(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        return Decimal(0)


def _parquet_of(lines: Sequence[Mapping[str, str]]) -> bytes:
    columns: dict[str, pa.Array] = {}
    for name in LINE_COLUMNS:
        texts = pa.array([line[name] for line in lines], pa.string())
        if name == "quantity":
            columns[name] = texts.cast(pa.int64())
        elif name in ("sales_value", "retail_discount", "coupon_discount"):
            columns[name] = texts.cast(pa.decimal128(18, 2))
        else:
            columns[name] = texts
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()
