"""How long a campaign takes, and whether holds cut it into nights."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forecast_backfill.core.capacity import cap_for
from forecast_backfill.core.hold import HoldWindow
from forecast_backfill.core.sizing import Room, TaskSeconds, size_campaign

START = datetime(2026, 11, 29, 20, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
THREE_MINUTES = TaskSeconds(average=180, p95=180, source="given")


def hold(start, end, slots):
    return HoldWindow(
        start=START + start * MINUTE, end=START + end * MINUTE, slots=slots, reason="nightly"
    )


def size(tasks, each=THREE_MINUTES, *, slots=300, cap=100, holds=()):
    room = Room(slots=slots, cap=cap, holds=tuple(holds))
    return size_campaign(tasks=tasks, each=each, room=room, start=START)


def test_ninety_days_of_forty_regions_beside_a_peak_of_200_take_108_minutes():
    tasks = 90 * 40
    cap = cap_for(slots=300, nightly_peak=200, asked=None)
    found = size(tasks, slots=300, cap=cap)
    assert (found.tasks, found.task_seconds / 60, cap) == (3600, 10_800, 100)
    assert found.waves == 36
    assert found.earliest == found.latest == START + 108 * MINUTE
    assert found.advice == "in one go: no hold stops it on the way"


def test_the_range_goes_from_average_tasks_to_waves_of_slow_ones():
    found = size(101, TaskSeconds(average=60, p95=120, source="x"))
    assert found.earliest == START + timedelta(seconds=60.6)
    assert (found.waves, found.latest) == (2, START + 4 * MINUTE)


def test_a_single_task_takes_as_long_as_a_task():
    assert size(1).earliest == START + 3 * MINUTE


def test_a_cap_of_nothing_never_ends():
    found = size(10, cap=0)
    assert (found.waves, found.earliest, found.latest) == (None, None, None)
    assert found.advice == "the cap is 0 of 300 slots: nothing would ever run"


def test_nothing_to_do_ends_at_once():
    found = size(0)
    assert (found.latest, found.advice) == (START, "nothing is left to do")


def test_a_hold_of_some_slots_slows_the_campaign_without_cutting_it():
    # 30 minutes at 100, then 57 at 50, of the 10,800 task-minutes.
    found = size(3600, holds=[hold(30, 87, 250)])
    assert found.earliest == START + timedelta(minutes=87 + (10_800 - 3_000 - 2_850) / 100)
    assert not found.is_split


def test_a_hold_of_all_slots_splits_the_campaign_before_its_last_whole_task():
    found = size(3600, holds=[hold(63, 123, 300)])
    assert [(each.tasks, each.start, each.end) for each in found.parts] == [
        (2100, START, START + 63 * MINUTE),
        (1500, START + 123 * MINUTE, START + (123 + 45) * MINUTE),
    ]
    assert found.earliest == found.latest == START + (123 + 45) * MINUTE
    assert found.advice == (
        "split it: 2100 tasks end before 2026-11-29 21:03 UTC, when slots are held; launch the "
        "rest after the hold"
    )


def test_a_campaign_that_ends_with_the_begin_of_the_hold_goes_in_one():
    found = size(3600, holds=[hold(108, 123, 300)])
    assert not found.is_split
    assert found.earliest == found.latest == START + 108 * MINUTE


def test_a_minute_less_before_the_hold_splits_off_the_last_wave():
    found = size(3600, holds=[hold(107, 123, 300)])
    assert [each.tasks for each in found.parts] == [3500, 100]


def test_a_campaign_beyond_the_horizon_is_told_of():
    found = size(10_000_000, cap=1)
    assert (found.earliest, found.latest) == (None, None)
    assert found.advice == "it is not through in 30 days: launch a smaller range"


@pytest.mark.parametrize(("average", "p95"), [(0, 1), (2, 1)])
def test_durations_that_cannot_be_meant_are_refused(average, p95):
    with pytest.raises(ValueError, match="95th percentile"):
        TaskSeconds(average=average, p95=p95, source="x")


@given(
    tasks=st.integers(1, 5000),
    average=st.integers(1, 600),
    extra=st.integers(0, 600),
    cap=st.integers(1, 120),
    holds=st.lists(
        st.tuples(st.integers(0, 300), st.integers(1, 200), st.integers(0, 120)).map(
            lambda each: hold(each[0], each[0] + each[1], each[2])
        ),
        max_size=3,
    ),
)
def test_the_earliest_end_is_never_after_the_latest_and_no_task_is_lost(
    tasks, average, extra, cap, holds
):
    each = TaskSeconds(average=average, p95=average + extra, source="x")
    found = size(tasks, each, slots=120, cap=cap, holds=holds)
    if found.latest is not None:
        assert found.earliest <= found.latest
        assert sum(part.tasks for part in found.parts) == tasks
