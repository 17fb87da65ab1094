"""Policies side by side: what each costs nightly, and how long the campaign takes."""

import time
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forecast_backfill.simulation.compare import Scenario, compare
from forecast_backfill.simulation.policies import Policy
from forecast_backfill.simulation.shapes import Campaign, parse_night, spread_durations

MINUTES = 60.0
NIGHT = parse_night("regions:200x3m,fit:1x20m@150,forecasts:40x30s")
"""A peak of 200; alone it takes 23.5 minutes and fits from its third minute on."""

CAMPAIGN = Campaign(tasks=9000, durations=(180.0,), p95=180.0)
SCENARIO = Scenario(
    slots=300,
    nights=(NIGHT,),
    first_night=3600.0,
    deadline=60 * MINUTES,
    fit="fit",
    campaign=CAMPAIGN,
)


def results(scenario=SCENARIO):
    return {each.policy: each for each in compare(scenario)}


def only(policy, scenario=SCENARIO):
    (found,) = compare(scenario, [policy])
    return found


def test_ninety_days_of_forty_regions_beside_a_peak_of_200_take_108_minutes():
    campaign = Campaign(tasks=90 * 40, durations=(180.0,), p95=180.0)
    found = only(Policy.CAP_FROM_PEAK, replace(SCENARIO, campaign=campaign))
    assert (found.cap, found.campaign_seconds) == (100, 108 * MINUTES)


def test_without_a_cap_the_night_waits_for_the_whole_campaign():
    found = only(Policy.NO_CAP)
    # 30 waves of 3 minutes: the last begins in minute 87, the night in minute 60.
    assert found.fit_delay == pytest.approx(30 * MINUTES)
    assert found.nightly_end == pytest.approx(53.5 * MINUTES)


def test_a_night_that_ends_after_the_deadline_is_late():
    found = only(Policy.NO_CAP, replace(SCENARIO, deadline=50 * MINUTES))
    assert found.late_by == pytest.approx(3.5 * MINUTES)


def test_by_priority_alone_each_stage_waits_for_the_tasks_that_are_at_work():
    scenario = replace(SCENARIO, first_night=3600.0 + 60)
    found = only(Policy.PRIORITY, scenario)
    # The wave at work ends 2 minutes after the night has begun; when the regions have ended, their
    # slots are lent for 3 minutes before the fit asks for them.
    assert found.fit_delay == pytest.approx((2 + 3) * MINUTES)


def test_a_cap_from_what_is_idle_at_the_launch_helps_nobody():
    found = results(replace(SCENARIO, first_night=3600.0 + 60))
    idle, priority = found[Policy.CAP_FROM_IDLE], found[Policy.PRIORITY]
    assert (idle.cap, idle.fit_delay) == (300, priority.fit_delay)


def test_a_cap_from_the_peak_costs_nightly_nothing():
    found = only(Policy.CAP_FROM_PEAK)
    assert (found.cap, found.fit_delay, found.start_delay) == (100, 0.0, 0.0)
    assert found.nightly_end == pytest.approx(23.5 * MINUTES)


def test_a_night_reservation_costs_nightly_nothing_and_is_faster_than_the_cap():
    found = results()
    by_night, by_peak = found[Policy.NIGHT_RESERVATION], found[Policy.CAP_FROM_PEAK]
    assert (by_night.fit_delay, by_night.start_delay) == (0.0, 0.0)
    assert by_night.campaign_seconds < by_peak.campaign_seconds / 2


def test_a_peak_that_was_measured_too_low_is_seen():
    found = only(Policy.CAP_FROM_PEAK, replace(SCENARIO, peak=50))
    assert found.cap == 250
    assert found.start_delay > 0


def test_headroom_lowers_the_cap():
    assert only(Policy.CAP_FROM_PEAK, replace(SCENARIO, headroom=20)).cap == 80


def test_a_cap_of_nothing_never_ends():
    found = only(Policy.CAP_FROM_PEAK, replace(SCENARIO, peak=300, days=2))
    assert (found.cap, found.campaign_seconds, found.nights) == (0, None, 2)


def test_the_same_seed_gives_the_same_results_and_another_one_others():
    campaign = Campaign(tasks=500, durations=spread_durations(180.0, 400.0), p95=400.0)
    scenario = replace(SCENARIO, campaign=campaign)
    assert compare(scenario) == compare(scenario)
    assert compare(scenario) != compare(replace(scenario, seed=1))


def test_ends_within_a_grain_make_no_difference_to_speak_of(monkeypatch):
    campaign = Campaign(tasks=15_000, durations=spread_durations(180.0, 400.0), p95=400.0)
    scenario = replace(SCENARIO, campaign=campaign)
    exact = only(Policy.CAP_FROM_PEAK, scenario).campaign_seconds
    monkeypatch.setattr("forecast_backfill.simulation.engine.EXACT_TASKS", 0)
    assert only(Policy.CAP_FROM_PEAK, scenario).campaign_seconds == pytest.approx(exact, rel=0.02)


def test_nights_come_again_every_day_until_the_campaign_has_ended():
    campaign = Campaign(tasks=100_000, durations=(180.0,), p95=180.0)
    found = only(Policy.CAP_FROM_PEAK, replace(SCENARIO, campaign=campaign))
    # 1,000 waves of 3 minutes are 50 hours; nights begin in hours 1, 25 and 49.
    assert found.nights == 3
    assert found.campaign_seconds == pytest.approx(50 * 3600)


def test_a_campaign_that_outlives_the_nights_slots_is_held_back_by_a_lead():
    scenario = replace(SCENARIO, first_night=7200.0, lead=timedelta(minutes=30))
    trace = only(Policy.NIGHT_RESERVATION, scenario).trace
    during = [each for each in trace.samples if 5400 <= each.at < 7200]
    assert all(each.backfill <= 100 for each in during)


def test_a_million_tasks_on_ten_thousand_slots_are_compared_within_a_minute():
    night = parse_night("regions:6000x3m,fit:40x20m@150,forecasts:4000x30s")
    campaign = Campaign(tasks=1_000_000, durations=spread_durations(180.0, 300.0), p95=300.0)
    scenario = replace(SCENARIO, slots=10_000, nights=(night,), campaign=campaign)
    started = time.monotonic()
    found = results(scenario)
    assert time.monotonic() - started < 60
    # 1,000,000 tasks of 3 minutes in 4,000 slots are 12.5 hours.
    assert found[Policy.CAP_FROM_PEAK].campaign_seconds == pytest.approx(12.5 * 3600, rel=0.02)


@settings(max_examples=40, deadline=None)
@given(
    slots=st.integers(1, 12),
    tasks=st.integers(1, 60),
    durations=st.lists(st.integers(1, 900), min_size=1, max_size=4),
    night=st.lists(
        st.tuples(st.integers(1, 8), st.integers(1, 600), st.integers(1, 15)),
        min_size=1,
        max_size=3,
    ),
    peak=st.integers(0, 6),
    policy=st.sampled_from(Policy),
)
def test_no_slot_is_held_twice_and_every_task_is_done(slots, tasks, durations, night, peak, policy):
    text = ",".join(f"s{n}:{count}x{sec}s@{each}" for n, (count, sec, each) in enumerate(night))
    scenario = Scenario(
        slots=slots,
        nights=(parse_night(text),),
        first_night=600.0,
        deadline=3600.0,
        fit="s0",
        campaign=Campaign(
            tasks=tasks, durations=tuple(map(float, durations)), p95=float(max(durations))
        ),
        peak=min(peak, slots - 1),
    )
    found = only(policy, scenario)
    assert all(each.nightly + each.backfill <= slots for each in found.trace.samples)
    assert found.nightly_end is not None
    if policy is Policy.CAP_FROM_PEAK:
        assert all(each.backfill <= found.cap for each in found.trace.samples)
    if found.campaign_seconds is not None:
        assert found.trace.samples[-1].backfill == 0
        work = sum(
            now.backfill * (later.at - now.at)
            for now, later in zip(found.trace.samples, found.trace.samples[1:], strict=False)
        )
        assert tasks * min(durations) - 1e-6 <= work <= tasks * max(durations) + 1e-6
