"""How many slots nightly may still need, by the time since the night began."""

from datetime import UTC, date, datetime, timedelta

import pytest

from forecast_backfill.core.night_profile import NightProfile, flat_profile, profile_of
from forecast_backfill.core.peak import Usage

NIGHT = date(2026, 11, 2)
BEGIN = datetime(2026, 11, 2, 8, 30, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def usage(start, end, slots, days=0):
    begin = BEGIN + timedelta(days=days)
    return Usage(shape="x", start=begin + start * MINUTE, end=begin + end * MINUTE, slots=slots)


def profile(*nights):
    days = {NIGHT + timedelta(days=number): night for number, night in enumerate(nights)}
    return profile_of(
        days, {day: BEGIN + timedelta(days=number) for number, day in enumerate(days)}
    )


def test_slots_fall_as_the_larger_steps_are_over():
    found = profile([usage(0, 20, 3), usage(20, 40, 1), usage(40, 60, 2)])
    assert found.steps == ((timedelta(), 3), (20 * MINUTE, 2), (60 * MINUTE, 0))
    assert (found.peak, found.length) == (3, 60 * MINUTE)


def test_each_time_has_the_most_of_all_nights():
    found = profile([usage(0, 10, 2)], [usage(0, 5, 1, days=1), usage(5, 31, 1, days=1)])
    assert found.steps == ((timedelta(), 2), (10 * MINUTE, 1), (35 * MINUTE, 0))


def test_a_late_file_of_the_afternoon_belongs_to_no_profile():
    assert profile([usage(0, 10, 2), usage(725, 735, 4)]).length == 10 * MINUTE


def test_no_night_needs_nothing():
    assert (profile().peak, profile().length) == (0, timedelta())


def test_a_flat_profile_holds_its_peak_to_the_end():
    assert flat_profile(2, 150 * MINUTE).steps == ((timedelta(), 2), (150 * MINUTE, 0))
    assert flat_profile(0, 150 * MINUTE).steps == ()


@pytest.mark.parametrize(
    "steps",
    [
        ((timedelta(), 1), (10 * MINUTE, 2), (20 * MINUTE, 0)),
        ((timedelta(), 2), (10 * MINUTE, 1)),
        ((MINUTE, 2), (10 * MINUTE, 0)),
        ((timedelta(), 2), (timedelta(), 0)),
    ],
)
def test_a_profile_that_cannot_be_meant_is_refused(steps):
    with pytest.raises(ValueError, match="profile"):
        NightProfile(steps=steps)
