"""The hours in which backfill may run by the calendar."""

from datetime import UTC, datetime
from datetime import time as Time
from zoneinfo import ZoneInfo

import pytest

from forecast_backfill.core.hold import holds_at
from forecast_backfill.core.off_peak import OffPeakHours, closed_windows, parse_hours

ZONE = ZoneInfo("America/New_York")
NOW = datetime(2026, 11, 4, 17, tzinfo=UTC)
"""A Wednesday noon."""


def held(text, moment):
    local = datetime.fromisoformat(moment).replace(tzinfo=ZONE)
    return holds_at(local, closed_windows(NOW, parse_hours(text), zone=ZONE, slots=4))


def test_hours_are_read_with_their_days():
    assert parse_hours("Fri-Mon 20:00-06:00, 12:00-12:30") == (
        OffPeakHours(weekdays=frozenset({4, 5, 6, 0}), start=Time(20), minutes=600),
        OffPeakHours(weekdays=frozenset(range(7)), start=Time(12), minutes=30),
    )


def test_a_day_from_midnight_to_midnight_has_all_its_minutes():
    (found,) = parse_hours("Sat 00:00-24:00")
    assert found.minutes == 24 * 60


@pytest.mark.parametrize(
    ("moment", "slots"),
    [
        ("2026-11-04T19:59", 4),
        ("2026-11-04T20:00", 0),
        ("2026-11-05T05:59", 0),
        ("2026-11-05T06:00", 4),
        ("2026-11-07T15:00", 0),
        ("2026-11-09T05:00", 4),
    ],
)
def test_outside_of_the_hours_every_slot_is_held(moment, slots):
    assert held("Mon-Fri 20:00-06:00, Sat-Sun 00:00-24:00", moment) == slots


def test_the_hours_of_the_evening_before_reach_into_now():
    assert held("Tue 20:00-14:00", "2026-11-04T12:00") == 0


def test_without_hours_nothing_is_closed():
    assert closed_windows(NOW, (), zone=ZONE, slots=4) == ()


@pytest.mark.parametrize(
    "text", ["always", "Mon 8:00-9:00", "Xyz 08:00-09:00", "08:00-25:00", "24:00-01:00"]
)
def test_hours_that_cannot_be_meant_are_refused(text):
    with pytest.raises(ValueError):
        parse_hours(text)
