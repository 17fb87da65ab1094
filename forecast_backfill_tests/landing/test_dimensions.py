"""Dimensions keep ids as texts, and their version changes with what applies, and only then."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import date as Date
from pathlib import Path

import pytest

from forecast_backfill.core.errors import LandingIncomplete
from forecast_backfill.core.partition import Partition
from forecast_backfill.landing.reader import FileLanding
from forecast_backfill_tests.landing.hand_made import land_dimensions, land_promotions

SUNDAY = Partition(date=Date(2026, 11, 1), region="R01")
MONDAY = Partition(date=Date(2026, 11, 2), region="R01")
OTHER_REGION = Partition(date=Date(2026, 11, 1), region="R02")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    land_dimensions(tmp_path, products=["1001"], stores=[("330", "R01"), ("7", "R02")])
    return tmp_path


def _version(directory: Path, partition: Partition) -> str:
    return FileLanding(directory).dimensions(partition).version


def test_ids_that_look_like_numbers_or_missing_values_stay_texts(tmp_path: Path):
    land_dimensions(
        tmp_path,
        products=["0017", "NA", {"product_id": "nan", "exclusion": "fuel", "demand_group": ""}],
        stores=[("007", "R01"), ("null", "R01")],
    )
    dimensions = FileLanding(tmp_path).dimensions(SUNDAY)
    assert dimensions.products.to_pylist() == [
        {"product_id": "0017", "demand_group": "MILK", "exclusion": ""},
        {"product_id": "NA", "demand_group": "MILK", "exclusion": ""},
        {"product_id": "nan", "demand_group": "", "exclusion": "fuel"},
    ]
    assert dimensions.region_of_store["store_id"].to_pylist() == ["007", "null"]


def test_promotions_are_those_of_the_week_and_region(directory: Path):
    land_promotions(directory, SUNDAY.date, "R01", [("330", "1001", True, False)])
    dimensions = FileLanding(directory).dimensions(SUNDAY)
    assert dimensions.promotions.to_pylist() == [
        {"store_id": "330", "product_id": "1001", "on_display": True, "on_mailer": False}
    ]
    assert dimensions.promotion_stores.to_pylist() == ["330"]
    assert FileLanding(directory).dimensions(MONDAY).promotions.num_rows == 0
    assert FileLanding(directory).dimensions(OTHER_REGION).promotions.num_rows == 0


def test_without_a_promotion_file_no_store_is_known(directory: Path):
    dimensions = FileLanding(directory).dimensions(SUNDAY)
    assert dimensions.promotions.num_rows == 0
    assert dimensions.promotion_stores.to_pylist() == []


def test_a_promotion_file_changes_the_version_of_its_week_and_region_only(directory: Path):
    partitions = (SUNDAY, MONDAY, OTHER_REGION)
    before = [_version(directory, partition) for partition in partitions]
    land_promotions(directory, SUNDAY.date, "R01", [("330", "1001", True, False)])
    after = [_version(directory, partition) for partition in partitions]
    assert [old == new for old, new in zip(before, after, strict=True)] == [False, True, True]


def test_a_store_appended_elsewhere_leaves_the_version_alone(directory: Path):
    before = [_version(directory, SUNDAY), _version(directory, OTHER_REGION)]
    land_dimensions(directory, stores=[("330", "R01"), ("7", "R02"), ("8", "R02")])
    assert _version(directory, SUNDAY) == before[0]
    assert _version(directory, OTHER_REGION) != before[1]


def test_a_changed_product_changes_every_version(directory: Path):
    before = _version(directory, SUNDAY)
    stores = [("330", "R01"), ("7", "R02")]
    land_dimensions(directory, [{"product_id": "1001", "demand_group": "EGGS"}], stores)
    assert _version(directory, SUNDAY) != before


def test_the_same_tables_are_handed_out_until_a_file_changes(directory: Path):
    landing = FileLanding(directory)
    first = landing.dimensions(SUNDAY)
    assert landing.dimensions(MONDAY).products is first.products
    land_dimensions(directory, products=["1001", "1002"])
    assert landing.dimensions(SUNDAY).products.num_rows == 2


def test_a_file_of_the_same_size_is_read_again_when_its_time_changed(directory: Path):
    landing = FileLanding(directory)
    path = directory / "dimensions" / "store_region.csv"
    assert landing.dimensions(SUNDAY).region_of_store["store_id"].to_pylist() == ["330", "7"]
    path.write_text(path.read_text().replace("330", "331"))
    later = path.stat().st_mtime_ns + 1_000_000_000
    os.utime(path, ns=(later, later))
    assert landing.dimensions(SUNDAY).region_of_store["store_id"].to_pylist() == ["331", "7"]


@pytest.mark.parametrize("name", ["product.csv.gz", "store_region.csv"])
def test_an_absent_dimension_names_the_command_that_lands_it(directory: Path, name: str):
    (directory / "dimensions" / name).unlink()
    with pytest.raises(LandingIncomplete, match=f"the dimension {name} is not landed") as found:
        FileLanding(directory).dimensions(SUNDAY)
    assert found.value.next_command == "forecast-backfill landing --days 91"


@pytest.mark.parametrize("name", ["product.csv.gz", "store_region.csv"])
def test_an_unreadable_dimension_is_an_expected_error(directory: Path, name: str):
    (directory / "dimensions" / name).write_bytes(b"\x00\x01 nothing of the kind")
    with pytest.raises(LandingIncomplete, match="cannot be read"):
        FileLanding(directory).dimensions(SUNDAY)


def test_an_unreadable_promotion_file_is_an_expected_error(directory: Path):
    path = land_promotions(directory, SUNDAY.date, "R01", [])
    path.write_bytes(b"no parquet")
    with pytest.raises(LandingIncomplete, match="cannot be read"):
        FileLanding(directory).dimensions(SUNDAY)


def test_importing_the_reader_loads_no_pandas():
    code = "import sys, forecast_backfill.landing.reader;sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
