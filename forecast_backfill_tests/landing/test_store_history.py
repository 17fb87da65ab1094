"""A store that moves belongs to its old region before, to its new one after, in every reading."""

from __future__ import annotations

from datetime import date as Date
from pathlib import Path

import pandas as pd
import pytest

from forecast_backfill.core.errors import DimensionRefused, LandingIncomplete
from forecast_backfill.core.partition import Partition
from forecast_backfill.landing.journey_regions import DealtStores, moves_of
from forecast_backfill.landing.layout import Layout
from forecast_backfill.landing.reader import FileLanding
from forecast_backfill.landing.store_history import appended, current_regions, parse_stores
from forecast_backfill_tests.landing.conftest import LandDays, order_of
from forecast_backfill_tests.landing.hand_made import land_dimensions

SUNDAY, MONDAY = Date(2026, 11, 1), Date(2026, 11, 2)
PLAIN = [("330", "R01"), ("7", "R02")]
MOVED = [("330", "R01", "", "2026-11-02"), ("330", "R02", "2026-11-02", ""), ("7", "R02", "", "")]


def _regions(directory: Path, day: Date) -> dict[str, str]:
    table = FileLanding(directory).dimensions(Partition(date=day, region="R01")).region_of_store
    return {row["store_id"]: row["region"] for row in table.to_pylist()}


def _version(directory: Path, day: Date, region: str = "R01") -> str:
    return FileLanding(directory).dimensions(Partition(date=day, region=region)).version


def test_a_store_is_read_where_it_was_on_the_partitions_date(tmp_path: Path):
    land_dimensions(tmp_path, stores=MOVED)
    assert _regions(tmp_path, SUNDAY) == {"330": "R01", "7": "R02"}
    assert _regions(tmp_path, MONDAY) == {"330": "R02", "7": "R02"}


def test_a_store_that_is_not_open_yet_has_no_region(tmp_path: Path):
    land_dimensions(tmp_path, stores=[("330", "R01", "2026-11-02", ""), ("7", "R02", "", "")])
    assert _regions(tmp_path, SUNDAY) == {"7": "R02"}


def test_a_move_changes_no_version_of_a_date_before_it(tmp_path: Path):
    land_dimensions(tmp_path, stores=PLAIN)
    before = [
        _version(tmp_path, day, region) for day in (SUNDAY, MONDAY) for region in ("R01", "R02")
    ]
    land_dimensions(tmp_path, stores=MOVED)
    after = [
        _version(tmp_path, day, region) for day in (SUNDAY, MONDAY) for region in ("R01", "R02")
    ]
    assert [old == new for old, new in zip(before, after, strict=True)] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("stores", "reason"),
    [
        ([("330", "R01"), ("330", "R02")], r"two versions of 330 hold on \[always, open\)"),
        (
            [("330", "R01", "", "2026-11-09"), ("330", "R02", "2026-11-02", "")],
            r"two versions of 330 hold on \[2026-11-02, 2026-11-09\)",
        ),
        (
            [("330", "R01", "", "2026-11-02"), ("330", "R02", "2026-11-09", "")],
            r"no version of 330 holds on \[2026-11-02, 2026-11-09\)",
        ),
    ],
)
def test_contradicting_rows_are_refused_with_store_and_dates(
    tmp_path: Path, stores: list[tuple[str, ...]], reason: str
):
    land_dimensions(tmp_path, stores=stores)
    with pytest.raises(DimensionRefused, match=reason):
        _regions(tmp_path, SUNDAY)


def test_a_malformed_date_is_an_expected_error(tmp_path: Path):
    land_dimensions(tmp_path, stores=[("330", "R01", "2026-11-31", "")])
    with pytest.raises(LandingIncomplete, match="cannot be read"):
        _regions(tmp_path, SUNDAY)


def test_the_current_region_is_that_of_the_latest_row():
    rows = parse_stores(
        b"store_id,region,valid_from,valid_to\n9,R03,,\n330,R02,2026-11-02,\n330,R01,,2026-11-02\n"
    )
    assert current_regions(rows) == {"9": "R03", "330": "R02"}


def test_what_is_landed_stays_and_new_stores_are_appended():
    landed = b"store_id,region,valid_from,valid_to\n330,R01,,2026-11-02\n330,R02,2026-11-02,"
    assert appended(landed, {"330": "R02", "7": "R01"}) == landed + b"\n7,R01,,\n"


def test_a_line_belongs_to_the_region_of_its_own_day():
    rows = parse_stores(
        b"store_id,region,valid_from,valid_to\n330,R01,,2026-11-02\n330,R02,2026-11-02,\n7,R03,,\n"
    )
    dealt = DealtStores(current={330: "R02", 7: "R03"}, moves=moves_of(rows))
    stores = pd.Series([330, 330, 7])
    days = pd.to_datetime(pd.Series(["2026-11-01", "2026-11-02", "2026-11-01"]))
    assert dealt.of_lines(stores, days).tolist() == ["R01", "R02", "R03"]
    assert (dealt.on(SUNDAY), dealt.on(MONDAY)) == (
        {330: "R01", 7: "R03"},
        {330: "R02", 7: "R03"},
    )


def test_landing_again_after_a_move_changes_no_delivery_of_before(
    land_days: LandDays, tmp_path: Path
):
    """The largest store of R07 moves to R08 on the last of two landed days."""
    land_days(order_of(tmp_path, days=2, landed=("R07", "R08")))
    layout = Layout(directory=tmp_path)
    before = _deliveries(tmp_path)
    rows = layout.store_region.read_text().splitlines()
    moved = next(row.split(",")[0] for row in rows if row.endswith(",R07"))
    dated = ["store_id,region,valid_from,valid_to"]
    for store, region in (row.split(",") for row in rows[1:]):
        if store == moved:
            dated += [f"{store},R07,,2026-11-28", f"{store},R08,2026-11-28,"]
        else:
            dated.append(f"{store},{region},,")
    layout.store_region.write_text("".join(f"{row}\n" for row in dated))
    land_days(order_of(tmp_path, days=2, landed=("R07", "R08")))
    assert layout.store_region.read_text().splitlines() == dated
    after = _deliveries(tmp_path)
    assert {key for key, content in after.items() if before[key] != content} == {
        ("date=2026-11-28", "region=R07"),
        ("date=2026-11-28", "region=R08"),
    }


def _deliveries(directory: Path) -> dict[tuple[str, str], bytes]:
    paths = directory.glob("date=*/region=*/sales.csv.gz")
    return {(path.parts[-3], path.parts[-2]): path.read_bytes() for path in paths}
