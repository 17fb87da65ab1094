"""The sweep over what nightly's steps held."""

from datetime import UTC, date, datetime, timedelta
from datetime import time as Time
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forecast_backfill.core.night_state import NightHours
from forecast_backfill.core.peak import Usage, held_over_time, night_of, sweep

START = datetime(2026, 11, 2, 8, 30, tzinfo=UTC)
HOURS = NightHours(
    nightly_time=Time(3, 30), cut_off_time=Time(5), zone=ZoneInfo("America/New_York")
)


def usage(start, end, slots=1, shape="regions"):
    """A usage from minute to minute after START."""
    return Usage(
        shape=shape,
        start=START + timedelta(minutes=start),
        end=START + timedelta(minutes=end),
        slots=slots,
    )


def test_steps_at_the_same_time_add_up_with_their_weights():
    peak = sweep([usage(0, 30), usage(10, 40, shape="forecasts"), usage(20, 25, 3, "fit")])
    assert (peak.slots, peak.at) == (5, START + timedelta(minutes=20))
    assert peak.together == {"regions": 1, "forecasts": 1, "fit": 3}


def test_each_shape_has_a_peak_of_its_own():
    peak = sweep([usage(0, 10), usage(0, 10), usage(20, 30, 2, "fit"), usage(30, 40, 2, "fit")])
    assert peak.by_shape == {"regions": 2, "fit": 2}
    assert peak.slots == 2


def test_what_ends_frees_its_slots_before_what_starts_at_the_same_instant():
    assert sweep([usage(0, 10, 2), usage(10, 20, 2)]).slots == 2


def test_a_step_of_no_length_holds_nothing():
    assert sweep([usage(5, 5, 9)]).slots == 0


def test_nothing_has_no_peak():
    assert (sweep([]).slots, sweep([]).at) == (0, None)


def test_held_slots_are_told_from_each_change_on():
    minute = timedelta(minutes=1)
    assert held_over_time([usage(0, 2), usage(1, 3, 2)]) == (
        (START, 1),
        (START + minute, 3),
        (START + 2 * minute, 2),
        (START + 3 * minute, 0),
    )


@pytest.mark.parametrize(("end", "slots"), [(-1, 1), (5, 0)])
def test_a_usage_that_cannot_be_meant_is_refused(end, slots):
    with pytest.raises(ValueError, match="regions"):
        usage(0, end, slots)


@given(
    st.lists(
        st.tuples(st.integers(0, 40), st.integers(0, 20), st.integers(1, 4)).map(
            lambda each: usage(each[0], each[0] + each[1], each[2])
        ),
        max_size=25,
    )
)
def test_the_sweep_finds_what_asking_every_minute_finds(usages):
    asked = [
        sum(each.slots for each in usages if each.start <= at < each.end)
        for at in (START + timedelta(minutes=minute) for minute in range(62))
    ]
    assert sweep(usages).slots == max(asked)


@pytest.mark.parametrize(
    ("moment", "night"),
    [
        (datetime(2026, 11, 2, 8, 30, tzinfo=UTC), date(2026, 11, 2)),
        (datetime(2026, 11, 2, 8, 29, tzinfo=UTC), date(2026, 11, 1)),
        (datetime(2026, 11, 2, 23, 0, tzinfo=UTC), date(2026, 11, 2)),
        # In summer time the night begins an hour earlier by UTC.
        (datetime(2026, 7, 2, 7, 30, tzinfo=UTC), date(2026, 7, 2)),
    ],
)
def test_an_instant_belongs_to_the_night_that_began_last(moment, night):
    assert night_of(moment, HOURS) == night
