"""The pace goes down at once, comes back carefully, and leaves a trip by a person only."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forecast_backfill.core.pace import Pace, PaceLevel, PaceRules, PaceState, distrusted
from forecast_backfill.core.pace_memory import PaceMemory, memory_from_json, memory_to_json
from forecast_backfill.core.pace_steps import reset, step
from forecast_backfill.core.signal import (
    DEFAULT_THRESHOLDS,
    Look,
    Measured,
    NotApplicable,
    Reading,
    SignalLook,
    Unreadable,
)

START = datetime(2026, 11, 30, 12, tzinfo=UTC)
RULES = PaceRules()
LAG = DEFAULT_THRESHOLDS["replication_lag"]
FRESH = PaceState(
    level=PaceLevel.FULL,
    share=1.0,
    chunk_rows=8192,
    signal=None,
    value=None,
    reason="new",
    changed_at=START,
    sampled_at=START,
)


def seen(*readings: Reading | float) -> list[SignalLook]:
    """Looks at signals that are all judged as the replication lag is; a number is measured."""
    return [
        SignalLook(
            name=f"signal_{number}",
            thresholds=LAG,
            look=Look(reading=Measured(value=each) if isinstance(each, int | float) else each),
        )
        for number, each in enumerate(readings)
    ]


def follow(
    values: Iterable[Reading | float], state: PaceState = FRESH, *, every: float = 2
) -> list[PaceState]:
    """The states after each value of one signal, a look every so many seconds."""
    states: list[PaceState] = []
    now = state.sampled_at or START
    for value in values:
        now += timedelta(seconds=every)
        state = step(state, seen(value), RULES, now)
        states.append(state)
    return states


def levels(states: Iterable[PaceState]) -> list[str]:
    return [str(each.level) for each in states]


TRIPPED = follow([200.0] * 152)[-1]


def test_a_healthy_production_is_left_at_full_speed():
    state = follow([0.1] * 10)[-1]
    assert (state.level, state.share, state.chunk_rows) == (PaceLevel.FULL, 1.0, 8192)
    assert state.changed_at == START


@pytest.mark.parametrize(
    ("lag", "level"),
    [(4.9, "full"), (5.0, "half"), (29.0, "half"), (30.0, "paused"), (120.0, "paused")],
)
def test_one_look_is_enough_to_go_down(lag: float, level: str):
    assert levels(follow([lag])) == [level]


def test_half_pace_takes_half_of_the_cap_in_half_as_large_chunks_and_says_why():
    (state,) = follow([7.0])
    assert (state.share, state.chunk_rows) == (0.5, 4096)
    assert (state.signal, state.value) == ("signal_0", 7.0)
    assert state.reason == "signal_0 is 7.00 s, the limit is 5.00 s"


def test_pressure_that_stays_halves_the_share_again_every_ten_seconds_down_to_a_tenth():
    shares = [each.share for each in follow([7.0] * 20)]
    assert shares == [0.5] * 5 + [0.25] * 5 + [0.125] * 5 + [0.1] * 5


def test_the_worst_signal_decides_and_is_named():
    state = step(FRESH, seen(0.0, 31.0, 6.0), RULES, START + timedelta(seconds=2))
    assert (state.level, state.signal) == (PaceLevel.PAUSED, "signal_1")


def test_calm_gives_back_a_tenth_of_the_cap_every_four_seconds():
    states = follow([7.0] + [0.1] * 16)
    assert [each.share for each in states[:6]] == [0.5, 0.5, 0.5, 0.6, 0.6, 0.7]
    assert states[-1].level is PaceLevel.FULL
    assert levels(states).index("full") == 11


def test_a_pause_ends_in_a_probe_with_the_least_share_after_ten_calm_seconds():
    states = follow([40.0] + [1.0] * 6)
    assert levels(states) == ["paused"] * 6 + ["half"]
    assert states[-1].share == 0.1
    assert states[-1].memory.is_probing


def test_a_probe_that_hurts_pauses_again_for_twice_as_long():
    states = follow([40.0] + [1.0] * 6 + [40.0] + [1.0] * 11)
    assert levels(states[7:]) == ["paused"] * 11 + ["half"]


def test_a_probe_under_pressure_neither_grows_nor_stops():
    states = follow([40.0] + [1.0] * 6 + [6.0] * 30)
    assert {each.share for each in states[7:]} == {0.1}
    assert set(levels(states[7:])) == {"half"}


def test_a_probe_that_stays_calm_comes_back_to_full_speed():
    states = follow([40.0] + [1.0] * 60)
    assert states[-1].level is PaceLevel.FULL
    assert [each.share for each in states] == sorted(each.share for each in states)


def test_a_signal_that_rises_fast_halves_the_pace_before_it_reaches_a_threshold():
    states = follow([0.0, 0.0, 2.0, 4.0])
    assert levels(states) == ["full", "full", "full", "half"]
    assert states[-1].reason == ("signal_0 is 4.00 s and rises: it reaches 30 s in about 26 s")


def test_a_signal_that_rises_slowly_below_its_threshold_changes_nothing():
    assert set(levels(follow([3.0 + 0.01 * number for number in range(50)]))) == {"full"}


def test_one_high_value_alone_is_no_slope():
    assert set(levels(follow([0.0, 0.0, 4.9, 0.0, 4.9, 0.0]))) == {"full"}


def test_red_for_five_minutes_trips():
    states = follow([120.0] * 152)
    assert levels(states).index("tripped") == 150
    assert states[-1].reason.startswith("tripped: signal_0 is 120 s, the limit is 120 s, for 5 min")


def test_what_cannot_be_read_for_five_minutes_trips():
    states = follow([Unreadable(reason="no answer within 2 s")] * 151)
    assert levels(states)[-2:] == ["paused", "tripped"]
    assert "signal_0 cannot be read: no answer within 2 s" in states[-1].reason


def test_red_that_was_interrupted_does_not_trip():
    assert "tripped" not in levels(follow(([120.0] * 140 + [1.0]) * 3))


def test_red_before_and_after_a_silence_is_no_proof_of_red_between():
    first = follow([200.0] * 10)[-1]
    (second,) = follow([200.0], first, every=3600)
    assert second.level is PaceLevel.PAUSED


def test_after_a_reset_the_next_healthy_look_lets_the_least_share_run():
    told = reset(TRIPPED, by="Ada", reason="disk replaced", rules=RULES, now=START)
    assert told.reason == "reset by Ada: disk replaced"
    assert told.is_due(RULES, START)
    assert not told.is_trusted(RULES, START)
    after = step(told, seen(0.0), RULES, START + timedelta(hours=1))
    assert (after.level, after.share) == (PaceLevel.HALF, 0.1)


def test_after_a_reset_a_look_that_still_hurts_pauses():
    told = reset(TRIPPED, by="Ada", reason="x", rules=RULES, now=START)
    assert step(told, seen(200.0), RULES, START).level is PaceLevel.PAUSED


def test_a_signal_that_does_not_apply_counts_neither_way():
    state = step(FRESH, seen(NotApplicable(reason="no replica")), RULES, START)
    assert (state.level, state.reason) == (PaceLevel.FULL, "no signal applies here")


def test_a_state_is_due_after_the_interval_and_stale_after_fifteen_seconds():
    at = [START + timedelta(seconds=each) for each in (0, 1.9, 2, 15, 16)]
    assert [FRESH.is_due(RULES, each) for each in at] == [False, False, True, True, True]
    assert [FRESH.is_trusted(RULES, each) for each in at] == [True, True, True, True, False]


def test_a_state_from_the_future_is_due():
    assert FRESH.is_due(RULES, START - timedelta(minutes=1))
    assert not FRESH.is_trusted(RULES, START - timedelta(minutes=1))


def test_a_state_that_is_not_trusted_lets_nothing_start_and_says_so():
    held = distrusted(FRESH, RULES, START + timedelta(seconds=90))
    assert held.level is PaceLevel.PAUSED
    assert held.reason == (
        "production's health was last measured 90 s ago; another process is measuring it"
    )
    assert distrusted(TRIPPED, RULES, START + timedelta(days=1)) == TRIPPED


@pytest.mark.parametrize("share", [0.0, -0.1, 1.1])
def test_a_pace_without_a_share_is_refused(share: float):
    with pytest.raises(ValueError, match="share"):
        Pace(level=PaceLevel.HALF, share=share, chunk_rows=1, reason="x")


def test_the_memory_survives_its_way_through_json():
    memory = follow([40.0, 1.0, 7.0])[-1].memory
    assert memory_from_json(json.loads(json.dumps(memory_to_json(memory)))) == memory
    assert memory_from_json({}) == PaceMemory()


@pytest.mark.parametrize(
    "stored", [{"pressures": [{"name": "lag"}]}, {"calm_since": "yesterday"}, {"notes": [1]}]
)
def test_a_memory_of_another_version_is_forgotten(stored: dict[str, object]):
    assert memory_from_json(stored) == PaceMemory()


def test_a_clock_that_was_set_back_neither_trips_nor_stops_the_recovery():
    red = follow([200.0] * 100)[-1]
    back = step(red, seen(1.0), RULES, START - timedelta(hours=1))
    assert back.sampled_at == START - timedelta(hours=1)
    assert levels(follow([1.0] * 6, back))[-1] == "half"


READINGS = st.one_of(
    st.floats(min_value=0, max_value=300),
    st.sampled_from([Unreadable(reason="x"), NotApplicable(reason="y")]),
)


@given(st.lists(READINGS, max_size=60), st.floats(min_value=0.1, max_value=100))
def test_a_trip_is_never_left_by_looking(values: list[Reading | float], every: float):
    assert set(levels(follow(values, TRIPPED, every=every))) <= {"tripped"}


@given(st.lists(READINGS, max_size=60), st.floats(min_value=0.1, max_value=20))
def test_the_share_is_above_nothing_and_up_to_all(values: list[Reading | float], every: float):
    for state in follow(values, every=every):
        assert 0.1 <= state.share <= 1
        assert 512 <= state.chunk_rows <= 8192
        assert (state.level is PaceLevel.FULL) == (state.share == 1)


@given(st.lists(READINGS, max_size=40), st.floats(min_value=0.1, max_value=20))
def test_what_cannot_be_read_never_makes_it_faster(values: list[Reading | float], every: float):
    before = follow(values, every=every)[-1] if values else FRESH
    after = follow([Unreadable(reason="x")], before, every=every)[-1]
    assert after.level.is_stopped
    assert after.share <= before.share


@given(
    st.sampled_from([5.0, 30.0, 120.0]),
    st.lists(st.floats(min_value=0.71, max_value=1.0), min_size=2, max_size=30),
)
def test_values_that_swing_about_a_threshold_change_the_level_once(
    threshold: float, parts: list[float]
):
    states = follow([threshold, *(threshold * each for each in parts)])
    assert len(set(levels(states))) == 1


@given(st.lists(READINGS, min_size=1, max_size=60))
def test_the_share_grows_by_one_step_at_most_in_a_look(values: list[Reading | float]):
    before = FRESH
    for after in follow(values):
        assert after.share <= before.share + 0.1 + 1e-9
        before = after


@given(st.lists(READINGS, max_size=30), READINGS)
def test_the_same_looks_lead_to_the_same_state_after_a_way_through_json(
    values: list[Reading | float], last: Reading | float
):
    before = follow(values)[-1] if values else FRESH
    reread = replace(before, memory=memory_from_json(memory_to_json(before.memory)))
    assert follow([last], before) == follow([last], reread)
