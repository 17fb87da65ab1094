"""The real data is what was measured: exclusions, demand groups, regions."""

from __future__ import annotations

import sys

import pandas as pd
import pytest

from forecast_backfill.core.errors import SettingRefused
from forecast_backfill.landing import journey_data
from forecast_backfill.landing.journey_data import FIRST_QUARTER_END, Journey
from forecast_backfill.landing.journey_products import assign_demand_groups
from forecast_backfill.landing.journey_regions import (
    assign_regions,
    mapping_file,
    read_mapping,
    with_copies,
)
from forecast_backfill_tests.landing.conftest import NEW_YORK, REGIONS


def test_all_lines_of_all_stores_are_there(journey: Journey):
    assert len(journey.lines) == 1_469_307
    assert journey.lines["store_id"].nunique() == 457


def test_demand_is_what_the_declared_rules_leave(journey: Journey):
    assert len(journey.demand) == 1_441_451
    assert int(journey.demand["quantity"].sum()) == 1_896_715


def test_every_left_out_line_is_counted_under_one_rule(journey: Journey):
    counts = journey.lines["exclusion"].value_counts().drop("").to_dict()
    assert counts == {
        "fuel": 14_697,
        "unmatched_product": 4_836,
        "no_quantity": 3_943,
        "miscellaneous": 3_171,
        "coupon_item": 761,
        "coupon": 411,
        "photo": 17,
        "supplies": 15,
        "postal": 5,
    }


def test_no_household_is_loaded(journey: Journey):
    assert "household_id" not in journey.lines.columns


def _groups(journey: Journey) -> pd.Series:
    demand = journey.demand
    return assign_demand_groups(journey.products, demand[demand["day"] <= FIRST_QUARTER_END])


def test_there_are_thirty_five_demand_groups(journey: Journey):
    names = set(_groups(journey)) - {""}
    assert len(names) == 35
    assert {"FLUID MILK PRODUCTS", "GROCERY OTHER", "ALL OTHER"} <= names


def test_a_product_that_is_left_out_has_no_demand_group(journey: Journey):
    groups = _groups(journey)
    assert set(groups[journey.products["exclusion"] != ""]) == {""}
    assert "" not in set(groups[journey.products["exclusion"] == ""])


@pytest.fixture(scope="module")
def mapping(journey: Journey) -> dict[int, str]:
    return assign_regions(journey.lines, journey.demand, REGIONS, {})


def test_every_store_has_a_region(mapping: dict[int, str]):
    assert len(mapping) == 457
    assert set(mapping.values()) == set(REGIONS)


def test_no_region_is_much_larger_than_the_mean(journey: Journey, mapping: dict[int, str]):
    demand = journey.demand
    sales = demand["sales_cents"].groupby(demand["store_id"].map(mapping)).sum()
    assert round(sales.max() / sales.mean(), 2) == 1.23


def test_twenty_two_partitions_of_the_year_hold_no_demand(
    journey: Journey, mapping: dict[int, str]
):
    demand = journey.demand
    regions = demand["store_id"].map(mapping)
    assert 364 * 40 - demand.groupby([demand["day"], regions]).ngroups == 22


def test_a_frozen_store_stays_where_it_is_and_a_new_one_is_appended(
    journey: Journey, mapping: dict[int, str]
):
    newest = list(mapping)[-1]
    frozen = {store: region for store, region in mapping.items() if store != newest}
    moved = next(iter(frozen))
    frozen[moved] = "R40"
    again = assign_regions(journey.lines, journey.demand, REGIONS, frozen)
    assert list(again) == [*frozen, newest]
    assert again[moved] == "R40"
    assert again[newest] in REGIONS


def test_copies_of_stores_are_appended_in_the_region_of_their_original():
    landed = with_copies({330: "R02", 7: "R01"}, {"330": "R02"}, 2)
    assert landed == {"330": "R02", "7": "R01", "330c1": "R02", "7c1": "R01"}
    assert mapping_file(landed).startswith(b"store_id,region\n330,R02\n7,R01\n330c1,R02\n")


def test_a_frozen_region_that_the_settings_lost_is_refused(tmp_path):
    path = tmp_path / "store_region.csv"
    path.write_text("store_id,region\n330,R41\n")
    with pytest.raises(SettingRefused, match="the region R41 is not among"):
        read_mapping(path, REGIONS)


def test_without_the_package_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(journey_data, "PACKAGE", "no_such_package_anywhere")
    assert "no_such_package_anywhere" not in sys.modules
    with pytest.raises(SettingRefused) as refused:
        journey_data.load_journey(NEW_YORK)
    assert refused.value.next_command == "pip install 'forecast-backfill[demo]'"
