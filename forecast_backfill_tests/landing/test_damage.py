"""Damage is named, is what is found, follows from the arguments alone, and landing repairs it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date as Date
from pathlib import Path

import pytest

from forecast_backfill.core.errors import UsageRefused
from forecast_backfill.core.partition import DateRange, Partition
from forecast_backfill.engines.pandas_engine import PandasEngine
from forecast_backfill.landing.damage import Damaged, damage
from forecast_backfill.landing.damage_ways import WAYS
from forecast_backfill.landing.reader import FileLanding
from forecast_backfill.ports import Rejected
from forecast_backfill_tests.landing.conftest import REGIONS, LandDays, order_of
from forecast_backfill_tests.landing.hand_made import land, land_dimensions

ONE_DAY = DateRange(start=Date(2026, 11, 28), end=Date(2026, 11, 29))
WAY_NAMES = [way.name for way in WAYS]


@pytest.fixture(scope="module")
def spoiled(
    land_days: LandDays, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, tuple[Damaged, ...]]:
    """A landed day with every way of damage once."""
    directory = tmp_path_factory.mktemp("spoiled")
    land_days(order_of(directory, days=1))
    return directory, damage(directory, dates=ONE_DAY, regions=REGIONS, count=len(WAYS))


@pytest.mark.parametrize("at", range(len(WAYS)), ids=WAY_NAMES)
def test_the_named_fault_is_what_is_found(spoiled: tuple[Path, tuple[Damaged, ...]], at: int):
    directory, damaged = spoiled
    landing, partition = FileLanding(directory), damaged[at].partition
    judged = PandasEngine().prepare(landing.read(partition), landing.dimensions(partition))
    assert isinstance(judged, Rejected)
    assert damaged[at].way == WAY_NAMES[at]
    assert damaged[at].found_as in judged.report.counts


def test_there_are_at_least_twelve_ways_and_each_has_its_own_fault():
    assert len(WAYS) >= 12
    assert len({way.found_as for way in WAYS}) == len({way.name for way in WAYS}) == len(WAYS)


def _hand_made(directory: Path) -> Iterator[Path]:
    land_dimensions(directory, stores=[(f"s{n}", f"R{n:02d}") for n in range(1, 5)])
    for number in range(1, 5):
        partition = Partition(date=Date(2026, 11, 28), region=f"R{number:02d}")
        lines = [{"store_id": f"s{number}"}] * number
        yield land(directory, partition, lines)


def test_only_deliveries_with_two_lines_or_more_are_spoiled(tmp_path: Path):
    list(_hand_made(tmp_path))
    damaged = damage(tmp_path, dates=ONE_DAY, regions=REGIONS[:4], count=3)
    assert {each.partition.region for each in damaged} == {"R02", "R03", "R04"}


def test_the_same_arguments_spoil_the_same_deliveries_in_the_same_way(tmp_path: Path):
    found = []
    for name in ("one", "two"):
        list(_hand_made(tmp_path / name))
        found.append(damage(tmp_path / name, dates=ONE_DAY, regions=REGIONS[:4], count=2))
    assert found[0] == found[1]
    assert [each.way for each in found[0]] == ["gzip cut short", "decimal comma"]


def test_more_damage_than_there_are_deliveries_is_refused_and_nothing_is_spoiled(tmp_path: Path):
    folders = list(_hand_made(tmp_path))
    before = [(folder / "sales.csv.gz").read_bytes() for folder in folders]
    with pytest.raises(UsageRefused, match="only 3 in the range are whole"):
        damage(tmp_path, dates=ONE_DAY, regions=REGIONS[:4], count=4)
    assert [(folder / "sales.csv.gz").read_bytes() for folder in folders] == before


def test_landing_again_repairs_the_damage_and_touches_nothing_else(
    land_days: LandDays, tmp_path: Path
):
    order = order_of(tmp_path, days=1)
    land_days(order)
    whole = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    damaged = damage(tmp_path, dates=ONE_DAY, regions=REGIONS, count=3)
    good = {
        path: path.stat().st_mtime_ns
        for path in whole
        if not any(f"region={each.partition.region}/" in str(path) for each in damaged)
    }
    # File and manifest of the first two, the manifest alone of the third.
    assert land_days(order).written == 5
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == whole
    assert {path: path.stat().st_mtime_ns for path in good} == good
