"""Nightly's peak over recent nights, and the cap that follows from it."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from datetime import time as Time
from zoneinfo import ZoneInfo

from forecast_backfill.core.capacity_measure import (
    CapacityBasis,
    PeakSource,
    in_force,
    measure_capacity,
)
from forecast_backfill.core.night_state import NightHours
from forecast_backfill.core.peak import NightStep, Usage

HOURS = NightHours(
    nightly_time=Time(3, 30), cut_off_time=Time(5), zone=ZoneInfo("America/New_York")
)
FIRST = date(2026, 11, 2)
BEGIN = datetime(2026, 11, 2, 8, 30, tzinfo=UTC)


def step(night, start, end, slots, shape="regions"):
    begin = BEGIN + timedelta(days=night)
    usage = Usage(
        shape=shape,
        start=begin + timedelta(minutes=start),
        end=begin + timedelta(minutes=end),
        slots=slots,
    )
    day = FIRST + timedelta(days=night)
    return NightStep(night=day, run_id=f"{night}", step=f"{shape}-{start}", usage=usage)


BASIS = CapacityBasis(
    hours=HOURS,
    slots=300,
    headroom=0,
    configured_peak=150,
    expected_length=timedelta(hours=2),
)


def measure(steps, **changes):
    return measure_capacity(steps, replace(BASIS, **changes))


def test_the_cap_is_slots_less_the_peak_of_the_worst_night_and_the_headroom():
    nights = [
        step(0, 0, 60, 120),
        step(1, 0, 30, 120),
        step(1, 20, 50, 80, "fit"),
        step(2, 0, 20, 90),
    ]
    found = measure(nights, headroom=10)
    assert (found.peak, found.nights, found.cap) == (200, 3, 90)
    assert found.source is PeakSource.NIGHTS
    assert found.peak_at == BEGIN + timedelta(days=1, minutes=20)
    assert (found.by_shape, found.together) == (
        {"regions": 120, "fit": 80},
        {"regions": 120, "fit": 80},
    )
    assert found.profile.length == timedelta(minutes=60)


def test_fewer_than_three_nights_say_so_and_take_the_configured_peak():
    found = measure([step(0, 0, 60, 290), step(1, 0, 60, 290)])
    assert (found.peak, found.cap, found.source) == (150, 150, PeakSource.SETTING)
    assert found.reason == ("2 nights on record, fewer than 3: the configured peak of 150 is used")
    assert found.profile.length == timedelta(hours=2)


def test_a_peak_of_more_than_the_slots_leaves_backfill_none():
    assert measure([step(night, 0, 9, 301) for night in range(3)]).cap == 0


def test_a_stored_measure_keeps_its_headroom_and_takes_the_slots_of_now():
    stored = measure([step(night, 0, 9, 120) for night in range(3)], headroom=5)
    found = in_force(stored, replace(BASIS, slots=200, headroom=1))
    assert (found.peak, found.headroom, found.cap) == (120, 5, 75)


def test_a_stored_measure_of_too_few_nights_follows_the_setting_as_it_is_now():
    stored = measure([step(0, 0, 9, 120)])
    found = in_force(stored, replace(BASIS, configured_peak=100))
    assert (found.peak, found.cap, found.nights) == (100, 200, 1)


def test_without_any_measure_the_configured_peak_counts():
    assert in_force(None, BASIS).cap == 150
