"""What is landed: to the byte the same, true to its manifest, and left alone when right."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
from datetime import date as Date
from decimal import Decimal
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from forecast_backfill.core.errors import UsageRefused
from forecast_backfill.core.manifest import parse_manifest
from forecast_backfill.core.partition import DateRange, Partition, partitions_of
from forecast_backfill.core.source import (
    LINE_COLUMNS,
)
from forecast_backfill.landing.layout import Layout
from forecast_backfill_tests.landing.conftest import REGIONS, LandDays, order_of

FOUR_DAYS = DateRange(start=Date(2026, 11, 25), end=Date(2026, 11, 29))


def _bytes_of(directory: Path) -> dict[str, bytes]:
    paths = sorted(path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in paths}


def _rows(directory: Path, partition: Partition) -> list[dict[str, str]]:
    content = (Layout(directory=directory).partition(partition) / "sales.csv.gz").read_bytes()
    return list(csv.DictReader(io.StringIO(gzip.decompress(content).decode())))


def test_landing_twice_gives_the_same_bytes(land_days: LandDays, landed: Path, tmp_path: Path):
    land_days(order_of(tmp_path))
    assert _bytes_of(tmp_path) == _bytes_of(landed)


def test_every_region_and_day_gets_a_delivery(landed: Path):
    folders = [Layout(directory=landed).partition(p) for p in partitions_of(FOUR_DAYS, REGIONS)]
    assert len(folders) == 160
    assert {tuple(sorted(path.name for path in folder.iterdir())) for folder in folders} == {
        ("manifest.json", "sales.csv.gz")
    }


def test_every_manifest_agrees_with_its_file(landed: Path):
    layout = Layout(directory=landed)
    for partition in partitions_of(FOUR_DAYS, REGIONS):
        manifest = parse_manifest(layout.manifest(partition).read_bytes())
        content = (layout.partition(partition) / manifest.file).read_bytes()
        rows = _rows(landed, partition)
        assert manifest.sha256 == hashlib.sha256(content).hexdigest()
        assert (manifest.date, manifest.region) == (partition.date.isoformat(), partition.region)
        assert manifest.totals.lines == len(rows)
        assert manifest.totals.units == sum(int(row["quantity"]) for row in rows)
        assert manifest.totals.revenue_cents == 100 * sum(Decimal(r["sales_value"]) for r in rows)
        assert manifest.totals.stores == len({row["store_id"] for row in rows})


def test_a_delivery_is_exported_on_the_next_morning(landed: Path):
    path = Layout(directory=landed).manifest(Partition(date=Date(2026, 11, 28), region="R01"))
    assert parse_manifest(path.read_bytes()).exported_at.isoformat() == "2026-11-29T05:00:00+00:00"


def test_a_landed_line_has_the_declared_columns_and_forms(landed: Path):
    row = _rows(landed, Partition(date=Date(2026, 11, 28), region="R07"))[0]
    assert tuple(row) == LINE_COLUMNS
    assert row["line_id"] == "1"
    assert row["sold_at"].startswith("2026-11-28T")
    assert row["sold_at"].endswith("-05:00")
    for name in ("sales_value", "retail_discount", "coupon_discount"):
        assert row[name] == f"{Decimal(row[name]):.2f}"


def test_the_lines_of_the_last_day_are_those_of_the_data(landed: Path, journey):
    day = journey.lines[journey.lines["day"] == "2017-12-30"]
    partitions = partitions_of(DateRange(start=Date(2026, 11, 28), end=FOUR_DAYS.end), REGIONS)
    rows = [row for partition in partitions for row in _rows(landed, partition)]
    assert len(rows) == len(day)
    cents = int(100 * sum(Decimal(row["coupon_discount"]) for row in rows))
    assert cents == int(day["coupon_cents"].sum())


def test_the_closed_day_lands_as_deliveries_of_zero_lines(land_days: LandDays, tmp_path: Path):
    # Monday 25 December 2017, when every store was closed, becomes Monday 30 November 2026.
    summary = land_days(order_of(tmp_path, as_of=Date(2026, 11, 30), days=1))
    assert (summary.files, summary.lines) == (40, 0)
    partition = Partition(date=Date(2026, 11, 30), region="R01")
    manifest = parse_manifest(Layout(directory=tmp_path).manifest(partition).read_bytes())
    assert manifest.totals.lines == manifest.totals.stores == 0
    content = (Layout(directory=tmp_path).partition(partition) / manifest.file).read_bytes()
    assert gzip.decompress(content).decode() == ",".join(LINE_COLUMNS) + "\n"


def test_landing_again_touches_nothing(land_days: LandDays, tmp_path: Path):
    order = order_of(tmp_path, days=1, landed=("R01", "R02"))
    land_days(order)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert land_days(order).written == 0
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_landing_part_of_the_regions_deals_stores_to_all_of_them(
    land_days: LandDays, landed: Path, tmp_path: Path
):
    land_days(order_of(tmp_path, days=1, landed=("R07",)))
    assert _bytes_of(tmp_path).items() <= _bytes_of(landed).items()
    assert len(list(tmp_path.glob("date=*/region=*"))) == 1


def test_a_scale_of_two_lands_every_line_for_a_copy_of_its_store_too(
    land_days: LandDays, landed: Path, tmp_path: Path
):
    land_days(order_of(tmp_path, days=1, landed=("R07",), scale=2))
    partition = Partition(date=Date(2026, 11, 28), region="R07")
    real, scaled = _rows(landed, partition), _rows(tmp_path, partition)
    assert scaled[: len(real)] == real
    copies = [
        row
        | {
            "line_id": str(len(real) + number),
            "store_id": row["store_id"] + "c1",
            "basket_id": row["basket_id"] + "c1",
        }
        for number, row in enumerate(real, start=1)
    ]
    assert scaled[len(real) :] == copies
    mapping = Layout(directory=tmp_path).store_region.read_text()
    assert f"{real[0]['store_id']}c1,R07\n" in mapping


def test_promotion_facts_have_unique_keys_and_only_stores_of_the_region(landed: Path):
    layout = Layout(directory=landed)
    region_of = dict(line.split(",") for line in layout.store_region.read_text().splitlines()[1:])
    total = 0
    for region in REGIONS:
        path = layout.promotion(Partition(date=Date(2026, 11, 28), region=region))
        facts = pq.read_table(path).to_pylist()
        keys = {(fact["store_id"], fact["product_id"]) for fact in facts}
        assert len(keys) == len(facts)
        assert {region_of[store] for store, _ in keys} <= {region}
        total += len(facts)
    # Week 53 of the data, its duplicate keys taken together.
    assert total == 405_875


def test_an_unknown_region_is_refused(tmp_path: Path):
    with pytest.raises(UsageRefused, match="the region R99 is unknown"):
        order_of(tmp_path, landed=("R99",))


def test_a_scale_below_one_is_refused(tmp_path: Path):
    with pytest.raises(UsageRefused, match="a scale of 0 lands nothing"):
        order_of(tmp_path, scale=0)
