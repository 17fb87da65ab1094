"""Missing is null and unsold is zero: told apart at the door, and nothing crooked gets in."""

from datetime import date, timedelta

import numpy as np
import pandas as pd
import pytest

from forecast_backfill.core.partition import DateRange, Partition
from forecast_backfill.forecasting.panel import PanelRefused, build_panel, complete_long
from forecast_backfill_tests.forecasting.market import draw_units, long_of, market, promotions

MONDAY = date(2026, 11, 23)
TUESDAY = MONDAY + timedelta(days=1)
TWO_DAYS = DateRange(start=MONDAY, end=MONDAY + timedelta(days=2))
SALES = pd.DataFrame(
    [("R01", "MILK", MONDAY, 5), ("R02", "BREAD", TUESDAY, 2)],
    columns=["region", "demand_group", "date", "units"],
)
R01_MONDAY = Partition(date=MONDAY, region="R01")
R02_MONDAY = Partition(date=MONDAY, region="R02")
R02_TUESDAY = Partition(date=TUESDAY, region="R02")


def complete(sales=SALES, present=(R01_MONDAY, R02_MONDAY, R02_TUESDAY)):
    return complete_long(
        sales,
        window=TWO_DAYS,
        regions=("R01", "R02"),
        groups=("BREAD", "MILK"),
        present=present,
    )


def units(long):
    return [None if value is pd.NA else value for value in long["units"]]


def test_a_landed_day_without_sales_is_zero_and_a_day_that_did_not_land_is_null():
    assert units(complete()) == [0, None, 5, None, 0, 2, 0, 0]


def test_the_readable_older_rows_of_a_partition_that_is_left_out_stay_out():
    assert units(complete(present=(R01_MONDAY, R02_MONDAY)))[5] is None


def test_a_window_in_which_nothing_landed_is_all_null():
    assert units(complete(present=())) == [None] * 8


def test_sales_outside_the_window_do_not_count():
    later = SALES.assign(date=[MONDAY, MONDAY + timedelta(days=2)])
    assert units(complete(later)) == [0, None, 5, None, 0, 0, 0, 0]


def test_the_panel_keeps_null_apart_from_zero():
    panel = build_panel(complete())
    assert panel.regions == ("R01", "R02")
    assert panel.groups == ("BREAD", "MILK")
    assert panel.end == date(2026, 11, 25)
    np.testing.assert_array_equal(panel.units, [[[0, np.nan], [5, np.nan]], [[0, 2], [0, 0]]])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"region": ["R01", "R99"]}, "the region 'R99' is unknown"),
        ({"demand_group": ["MILK", "FUEL"]}, "the demand_group 'FUEL' is unknown"),
        ({"units": [5, None]}, "sales without units"),
        (
            {"region": "R01", "demand_group": "MILK", "date": MONDAY},
            r"the key \('R01', 'MILK', '2026-11-23 00:00:00'\) is there 2 times or more",
        ),
    ],
)
def test_sales_that_cannot_be_meant_are_refused(change, why):
    with pytest.raises(PanelRefused, match=why):
        complete(SALES.assign(**change))


def with_units(place, value):
    long = complete()
    long.loc[place, "units"] = value
    return long


@pytest.mark.parametrize(
    ("long", "why"),
    [
        (complete().iloc[0:0], "it has no rows"),
        (complete().iloc[1:], "7 rows are not every region, group and date"),
        (pd.concat([complete(), complete().iloc[:1]]), "is there 2 times or more"),
        (with_units(0, pd.NA), "null for some of its groups only"),
        (with_units(0, -1), "units are negative or infinite"),
    ],
    ids=["empty", "gap", "duplicate", "partly null", "negative"],
)
def test_a_long_table_that_is_no_panel_is_refused(long, why):
    with pytest.raises(PanelRefused, match=why):
        build_panel(long)


def test_a_date_on_which_no_region_sold_anything_is_closed_and_no_evidence():
    units = draw_units(30)
    units[:, :, 10] = 0
    panel = build_panel(long_of(units))
    assert (panel.units[:, :, 10] == 0).all()
    assert np.isnan(panel.evidence()[:, :, 10]).all()


def test_a_region_alone_without_sales_is_evidence():
    units = draw_units(30)
    units[1, :, 10] = 0
    panel = build_panel(long_of(units))
    np.testing.assert_array_equal(panel.evidence(), units.astype(float))


def test_promotions_hold_for_every_day_of_their_week_and_are_unknown_where_none_are_known():
    panel = market(days=30)
    weekly = promotions().set_index(["region", "demand_group", "week"])
    week = pd.Timestamp("2026-09-14").date()
    expected = weekly.loc[("R03", "MILK", week), "display"]
    assert panel.promotions.shape == (4, 3, 44, 2)
    assert panel.promotions[2, 1, 14:21, 0].tolist() == [expected] * 7
    assert panel.promotions[2, 2, 14:21, 0].tolist() == [0.0] * 7
    assert np.isnan(panel.promotions[1]).all()


def test_rows_in_another_order_make_the_same_panel():
    long = long_of(draw_units(), [("R02", 3)])
    shuffled = long.sample(frac=1.0, random_state=3)
    assert build_panel(shuffled).digest() == build_panel(long).digest()


@pytest.mark.parametrize(
    "other",
    [
        {"missing": ()},
        {"seed": 9},
        {"days": 89, "missing": ()},
    ],
    ids=["a hole", "a value", "a day"],
)
def test_the_digest_tells_panels_apart(other):
    assert market().digest() != market(**other).digest()


def test_the_calendar_of_a_panel():
    panel = market()
    days = np.array([0, 1, 30, 31])
    assert panel.weekday(days).tolist() == [0, 1, 2, 3]
    assert panel.day_of_month(days).tolist() == [31, 1, 30, 1]


def test_a_window_cut_out_of_a_longer_panel_is_the_window_built_alone():
    units = draw_units(days=97)
    longer = build_panel(long_of(units), promotions(weeks=20))
    window = long_of(units)
    window = window[window["date"] >= "2026-09-07"]
    assert longer.between(7, 97).digest() == build_panel(window, promotions(weeks=20)).digest()
