"""Which dates exist, and where the seam lies."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forecast_backfill.core.calendar import Calendar, build_calendar, latest_complete_date

NEW_YORK = ZoneInfo("America/New_York")


@pytest.mark.parametrize(
    ("now", "latest"),
    [
        # 04:59 UTC is 23:59 of the day before in winter: that day has not ended.
        (datetime(2026, 11, 29, 4, 59, tzinfo=UTC), date(2026, 11, 27)),
        (datetime(2026, 11, 29, 5, 0, tzinfo=UTC), date(2026, 11, 28)),
        # In summer the local midnight is at 04:00 UTC.
        (datetime(2026, 7, 10, 3, 59, tzinfo=UTC), date(2026, 7, 8)),
        (datetime(2026, 7, 10, 4, 0, tzinfo=UTC), date(2026, 7, 9)),
    ],
)
def test_a_business_date_is_complete_at_the_local_midnight(now, latest):
    assert latest_complete_date(now=now, zone=NEW_YORK) == latest


def build(**changes):
    asked = {
        "first_date": date(2026, 9, 1),
        "as_of": None,
        "pinned_seam": None,
        "now": datetime(2026, 11, 29, 12, 0, tzinfo=UTC),
        "zone": NEW_YORK,
    }
    return build_calendar(**{**asked, **changes})


def test_the_seam_is_the_latest_date_unless_pinned():
    assert build().seam == date(2026, 11, 28)
    assert build(pinned_seam=date(2026, 11, 20)).seam == date(2026, 11, 20)


def test_as_of_replaces_the_latest_date_and_the_clock():
    calendar = build(as_of=date(2026, 10, 1))
    assert (calendar.latest_date, calendar.seam) == (date(2026, 10, 1), date(2026, 10, 1))


def test_the_dates_include_the_latest():
    calendar = Calendar(
        first_date=date(2026, 11, 26), latest_date=date(2026, 11, 28), seam=date(2026, 11, 28)
    )
    assert list(calendar.dates) == [date(2026, 11, 26), date(2026, 11, 27), date(2026, 11, 28)]


def test_a_first_date_after_the_latest_is_refused():
    with pytest.raises(ValueError, match="the first date 2026-12-24 is after 2026-11-28"):
        build(first_date=date(2026, 12, 24))


def test_after_an_outage_of_three_nights_the_missed_ones_are_still_nightlys():
    assert build(last_night=date(2026, 11, 24)).seam == date(2026, 11, 25)


def test_a_night_that_is_up_to_date_leaves_the_seam_at_the_latest_date():
    assert build(last_night=date(2026, 11, 27)).seam == date(2026, 11, 28)
    assert build(last_night=date(2026, 11, 28)).seam == date(2026, 11, 28)


def test_after_a_month_without_nights_most_of_it_is_history():
    assert build(last_night=date(2026, 10, 28)).seam == date(2026, 11, 21)


def test_a_pinned_seam_stands_whatever_nightly_has_done():
    pinned = build(pinned_seam=date(2026, 11, 20), last_night=date(2026, 11, 24))
    assert pinned.seam == date(2026, 11, 20)


@given(st.integers(-500, 500))
def test_the_seam_is_a_date_of_the_calendar_and_never_skips_a_missed_night(offset):
    """Every date that nightly has not sealed of the last week, or the latest one, is nightly's."""
    last_night = date(2026, 11, 28) + timedelta(days=offset)
    calendar = build(last_night=last_night)
    assert calendar.first_date <= calendar.seam <= calendar.latest_date
    missed = [day for day in calendar.dates if day > last_night and day >= date(2026, 11, 21)]
    assert all(day >= calendar.seam for day in missed)
