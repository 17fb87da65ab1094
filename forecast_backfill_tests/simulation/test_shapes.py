"""What is simulated: nights given or recorded, and durations spread around an average."""

from datetime import UTC, date, datetime, timedelta
from datetime import time as Time
from statistics import fmean

import pytest

from forecast_backfill.core.errors import UsageRefused
from forecast_backfill.core.night_state import NightHours
from forecast_backfill.core.peak import NightStep, Usage
from forecast_backfill.simulation.shapes import (
    NightTask,
    parse_night,
    recorded_nights,
    scaled,
    spread_durations,
)

HOURS = NightHours(nightly_time=Time(3, 30), cut_off_time=Time(5), zone=UTC)
NIGHT = date(2026, 11, 2)
BEGIN = datetime(2026, 11, 2, 3, 30, tzinfo=UTC)


def test_the_stages_of_a_given_night_follow_each_other():
    assert parse_night("regions:40x3m, fit:1x1.5h@2") == (
        (NightTask(shape="regions", offset=0.0, seconds=180.0, slots=1, count=40),),
        (NightTask(shape="fit", offset=180.0, seconds=5400.0, slots=2, count=1),),
    )


@pytest.mark.parametrize(
    "text", ["", "regions", "regions:0x3m", "regions:4x0m", "fit:1x3d", "fit:1x3m@0"]
)
def test_a_night_that_cannot_be_meant_is_refused_with_an_example(text):
    with pytest.raises(UsageRefused) as refused:
        parse_night(text)
    assert "--night 'regions:40x3m,fit:1x20m@2" in refused.value.next_command


def step(night, shape, start, end, slots=1):
    begin = BEGIN + timedelta(days=night)
    usage = Usage(
        shape=shape,
        start=begin + timedelta(seconds=start),
        end=begin + timedelta(seconds=end),
        slots=slots,
    )
    return NightStep(night=NIGHT + timedelta(days=night), run_id="r", step=shape, usage=usage)


def test_a_recorded_step_waits_for_what_had_ended_before_it_began():
    (night,) = recorded_nights(
        [
            step(0, "fit", 60, 90, 2),
            step(0, "a", 0, 50),
            step(0, "b", 10, 60),
            step(0, "nothing", 95, 95),
        ],
        HOURS,
    )
    assert [[task.shape for task in stage] for stage in night] == [["a", "b"], ["fit"]]
    assert night[1][0] == NightTask(shape="fit", offset=60.0, seconds=30.0, slots=2, count=1)


def test_recorded_nights_come_in_the_order_of_their_dates():
    found = recorded_nights([step(1, "b", 0, 9), step(0, "a", 0, 9)], HOURS)
    assert [night[0][0].shape for night in found] == ["a", "b"]


@pytest.mark.parametrize("ratio", [1.0, 1.5, 3.0])
def test_spread_durations_keep_average_and_95th_percentile(ratio):
    found = spread_durations(100.0, 100.0 * ratio)
    assert fmean(found) == pytest.approx(100.0)
    # The p95 lies between the last two of twenty.
    assert found[-2] <= 100.0 * ratio * 1.05
    assert found[-1] >= 100.0 * ratio * 0.95


def test_scaled_durations_have_the_wanted_average():
    assert scaled([1.0, 3.0], 10.0) == (5.0, 15.0)
