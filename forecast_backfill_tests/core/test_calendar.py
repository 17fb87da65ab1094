"""Which dates exist, and where the seam lies."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

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
