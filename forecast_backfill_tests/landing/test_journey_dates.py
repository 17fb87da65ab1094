"""The business date is the local one, and dates move by whole weeks."""

from __future__ import annotations

from datetime import date as Date
from datetime import timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from forecast_backfill.core.errors import UsageRefused
from forecast_backfill.landing.journey_data import Journey, local_times
from forecast_backfill.landing.journey_dates import Window, choose_window, iso_local

NEW_YORK = ZoneInfo("America/New_York")


def _local(*instants: str) -> list[str]:
    series = pd.Series(pd.to_datetime(list(instants)))
    return [str(value) for value in local_times(series, NEW_YORK)]


def test_an_evening_sale_belongs_to_the_local_date_and_not_to_the_next_utc_one():
    assert _local("2017-01-03 04:59:59", "2017-01-03 05:00:00") == [
        "2017-01-02 23:59:59",
        "2017-01-03 00:00:00",
    ]


def test_local_midnight_moves_by_an_hour_with_summer_time():
    assert _local("2017-03-12 04:59:59", "2017-03-13 03:59:59", "2017-03-13 04:00:00") == [
        "2017-03-11 23:59:59",
        "2017-03-12 23:59:59",
        "2017-03-13 00:00:00",
    ]


def test_seventeen_percent_of_the_lines_would_carry_another_date_in_utc(journey: Journey):
    sample = journey.lines.iloc[::20]
    local = sample["local"]
    instants = local.dt.tz_localize(NEW_YORK, ambiguous=True, nonexistent="raise")
    utc_days = instants.dt.tz_convert("UTC").dt.tz_localize(None).dt.normalize()
    assert round((utc_days != sample["day"]).mean(), 2) == 0.17


def _iso(*local: str) -> list[str]:
    return iso_local(np.array(local, dtype="datetime64[ns]"), NEW_YORK)


def test_a_sale_carries_the_offset_of_its_local_time():
    assert _iso("2026-10-31T12:00:00", "2026-11-01T12:00:00") == [
        "2026-10-31T12:00:00-04:00",
        "2026-11-01T12:00:00-05:00",
    ]


def test_an_hour_that_the_clocks_repeat_is_taken_as_the_first():
    assert _iso("2026-11-01T01:30:00") == ["2026-11-01T01:30:00-04:00"]


def test_an_hour_that_the_clocks_skip_stays_on_its_date():
    assert _iso("2026-03-08T02:30:00") == ["2026-03-08T02:30:00-05:00"]


def _choose(as_of: Date, days: int) -> Window:
    return choose_window(
        first_day=Date(2017, 1, 1), last_day=Date(2017, 12, 31), as_of=as_of, days=days
    )


def test_the_last_landed_day_is_as_of_and_keeps_its_weekday():
    window = _choose(Date(2026, 11, 28), 91)
    assert (window.first, window.last) == (Date(2026, 8, 30), Date(2026, 11, 28))
    assert window.last - window.shift == Date(2017, 12, 30)
    assert window.days == 91


@pytest.mark.parametrize("offset", range(7))
def test_every_weekday_finds_its_own_in_the_last_week_of_the_data(offset: int):
    as_of = Date(2026, 11, 23) + timedelta(days=offset)
    source = as_of - _choose(as_of, 1).shift
    assert source.weekday() == as_of.weekday()
    assert Date(2017, 12, 25) <= source <= Date(2017, 12, 31)


def test_more_days_than_the_data_holds_are_refused():
    with pytest.raises(UsageRefused, match="the data holds 1 to 364 days"):
        _choose(Date(2026, 11, 28), 365)


def test_a_shift_that_is_not_of_whole_weeks_is_refused():
    with pytest.raises(ValueError, match="not of whole weeks"):
        Window(first=Date(2026, 1, 1), last=Date(2026, 1, 2), shift=timedelta(days=8))
