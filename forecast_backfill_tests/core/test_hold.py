"""Slots held for nightly over time."""

from datetime import UTC, date, datetime, timedelta
from datetime import time as Time
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forecast_backfill.core.hold import (
    HoldWindow,
    holds_at,
    holds_for,
    most_held,
    next_hold_start,
    tonight_of,
)
from forecast_backfill.core.night_profile import NightProfile
from forecast_backfill.core.night_state import NightHours

HOURS = NightHours(
    nightly_time=Time(3, 30), cut_off_time=Time(5), zone=ZoneInfo("America/New_York")
)
BEGIN = datetime(2026, 11, 2, 8, 30, tzinfo=UTC)
LEAD = timedelta(minutes=10)
MINUTE = timedelta(minutes=1)
PROFILE = NightProfile(steps=((timedelta(), 3), (30 * MINUTE, 2), (60 * MINUTE, 0)))


def holds(now, *, has_ended=False, calendar=(), profile=PROFILE):
    return holds_for(
        now,
        hours=HOURS,
        lead=LEAD,
        profile=profile,
        has_ended_tonight=has_ended,
        calendar=calendar,
    )


def hold(start, end, slots):
    """A hold from minute to minute after BEGIN."""
    return HoldWindow(
        start=BEGIN + start * MINUTE, end=BEGIN + end * MINUTE, slots=slots, reason="x"
    )


@pytest.mark.parametrize(
    ("minutes", "held"),
    [(-11, 0), (-10, 3), (0, 3), (29, 3), (30, 2), (59, 2)],
)
def test_a_night_is_held_for_from_its_lead_on_by_its_profile(minutes, held):
    now = BEGIN + minutes * MINUTE
    assert holds_at(now, holds(now)) == held


def test_a_night_that_outlasts_every_recorded_one_keeps_its_peak():
    now = BEGIN + 100 * MINUTE
    assert holds_at(now, holds(now)) == 3
    assert [each.reason for each in holds(now) if each.start <= now < each.end] == [
        "nightly of 2026-11-02 08:30 UTC has not ended yet"
    ]


def test_the_end_of_a_night_frees_its_slots():
    now = BEGIN + 20 * MINUTE
    assert holds_at(now, holds(now, has_ended=True)) == 0


def test_a_night_that_never_ends_is_not_held_for_ever():
    now = BEGIN + timedelta(hours=12)
    assert holds_at(now, holds(now)) == 0


def test_the_next_hold_begins_with_the_lead_of_the_next_night():
    now = BEGIN + timedelta(hours=9)
    assert next_hold_start(now, holds(now, has_ended=True)) == BEGIN + timedelta(days=1) - LEAD


def test_after_a_change_of_clocks_the_hold_keeps_its_local_time():
    now = datetime(2026, 10, 31, 20, tzinfo=UTC)
    assert next_hold_start(now, holds(now, has_ended=True)) == datetime(
        2026, 11, 1, 8, 20, tzinfo=UTC
    )
    assert next_hold_start(now - timedelta(days=1), holds(now - timedelta(days=1))) == datetime(
        2026, 10, 31, 7, 20, tzinfo=UTC
    )


def test_tonight_is_the_last_night_whose_lead_has_begun():
    assert tonight_of(BEGIN - LEAD, HOURS, LEAD) == date(2026, 11, 1)
    assert tonight_of(BEGIN - LEAD - MINUTE, HOURS, LEAD) == date(2026, 10, 31)


def test_a_lead_that_passes_midnight_begins_on_the_evening_before():
    now = BEGIN - timedelta(hours=5)
    assert tonight_of(now, HOURS, timedelta(hours=6)) == date(2026, 11, 1)


def test_the_calendar_closes_beside_the_nights():
    closed = hold(-300, -200, 4)
    now = BEGIN - 250 * MINUTE
    assert holds_at(now, holds(now, has_ended=True, calendar=(closed,))) == 4


def test_an_empty_profile_holds_nothing():
    assert holds(BEGIN, profile=NightProfile(steps=())) == ()


def test_overlapping_holds_share_their_slots():
    assert holds_at(BEGIN, [hold(-5, 5, 2), hold(0, 9, 3)]) == 3


def test_a_later_hold_of_no_more_slots_is_no_next_hold():
    assert next_hold_start(BEGIN, [hold(0, 10, 2), hold(5, 15, 2)]) is None


def test_a_task_leaves_free_what_is_held_before_it_ends():
    windows = [hold(10, 20, 3)]
    assert most_held(BEGIN, 10 * MINUTE, windows) == 0
    assert most_held(BEGIN, 11 * MINUTE, windows) == 3
    assert most_held(BEGIN + 19 * MINUTE, timedelta(), windows) == 3


@given(
    start=st.integers(-30, 30),
    length=st.integers(0, 30),
    windows=st.lists(
        st.tuples(st.integers(-40, 40), st.integers(1, 30), st.integers(0, 5)).map(
            lambda each: hold(each[0], each[0] + each[1], each[2])
        ),
        max_size=6,
    ),
)
def test_most_held_is_what_asking_every_minute_finds(start, length, windows):
    begin = BEGIN + start * MINUTE
    asked = [holds_at(begin + minute * MINUTE, windows) for minute in range(max(1, length))]
    assert most_held(begin, length * MINUTE, windows) == max(asked)
