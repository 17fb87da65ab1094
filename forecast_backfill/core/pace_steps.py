"""The steps of the pace: from one look at the signals to the next state, and a person's reset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import assert_never

from forecast_backfill.core.pace import PaceLevel, PaceRules, PaceState
from forecast_backfill.core.pace_memory import PaceMemory
from forecast_backfill.core.pressure import Band, Pressure, judge_look
from forecast_backfill.core.signal import SignalLook

RESET_COMMAND = 'forecast-backfill resume --reason "…"'


def step(
    before: PaceState, looks: Sequence[SignalLook], rules: PaceRules, now: datetime
) -> PaceState:
    """The state after a look at all signals. A trip is left by `reset` only."""
    earlier = _remembered(before, rules, now)
    judged = (
        judge_look(earlier.pressure_of(each.name), each, rules.pressure, now) for each in looks
    )
    pressures = tuple(each for each in judged if each is not None)
    notes = {each.name: each.look.notes for each in looks if each.look.notes}
    seen = replace(
        before, sampled_at=now, memory=replace(earlier, pressures=pressures, notes=notes)
    )
    if before.level is PaceLevel.TRIPPED:
        return seen
    worst = max(pressures, key=lambda each: each.band, default=None)
    lasting = next((each for each in pressures if _lasts(each, rules, now)), None)
    if lasting is not None:
        return _trip(seen, lasting, rules, now)
    return _pace(seen, worst, rules, now)


def reset(state: PaceState, *, by: str, reason: str, rules: PaceRules, now: datetime) -> PaceState:
    """A person ends a trip or a pause: the next look decides, and a healthy one is a probe."""
    told = replace(state, signal=None, value=None, reason=f"reset by {by}: {reason}")
    fresh = replace(told, sampled_at=None, memory=PaceMemory())
    return _move(fresh, PaceLevel.HALF, rules.least_share, rules, now, is_probing=True)


def _remembered(before: PaceState, rules: PaceRules, now: datetime) -> PaceMemory:
    """Instants of before a long silence, or of a clock that was set back, prove nothing."""
    at = before.sampled_at
    if at is not None and timedelta(0) <= now - at <= rules.pressure.longest_gap:
        return before.memory
    return replace(before.memory, pressures=(), calm_since=None, stepped_at=None)


def _lasts(pressure: Pressure, rules: PaceRules, now: datetime) -> bool:
    since = pressure.red_since
    return since is not None and now - since >= rules.pressure.trip_after


def _trip(state: PaceState, red: Pressure, rules: PaceRules, now: datetime) -> PaceState:
    minutes = rules.pressure.trip_after / timedelta(minutes=1)
    told = replace(
        state,
        signal=red.name,
        value=red.value,
        reason=f"tripped: {red.reason}, for {minutes:g} min; a person looks, then resets it: "
        f"{RESET_COMMAND}",
    )
    return _move(told, PaceLevel.TRIPPED, rules.least_share, rules, now)


def _pace(state: PaceState, worst: Pressure | None, rules: PaceRules, now: datetime) -> PaceState:
    band = Band.CALM if worst is None else worst.band
    match state.level:
        case PaceLevel.FULL:
            return _from_full(_told(state, worst), band, rules, now)
        case PaceLevel.HALF if state.memory.is_probing:
            return _from_probe(_told(state, worst), band, rules, now)
        case PaceLevel.HALF:
            return _from_half(_told(state, worst), band, rules, now)
        case PaceLevel.PAUSED:
            return _from_paused(_told(state, worst), band, rules, now)
        case PaceLevel.TRIPPED:
            return state
        case _:
            assert_never(state.level)


def _told(state: PaceState, worst: Pressure | None) -> PaceState:
    if worst is None:
        return replace(state, signal=None, value=None, reason="no signal applies here")
    if worst.band is Band.CALM:
        return replace(state, signal=None, value=None, reason="all signals are calm")
    return replace(state, signal=worst.name, value=worst.value, reason=worst.reason)


def _from_full(state: PaceState, band: Band, rules: PaceRules, now: datetime) -> PaceState:
    if band >= Band.HURT:
        return _pause(state, rules, now)
    if band is Band.PRESSED:
        return _move(state, PaceLevel.HALF, rules.half_share, rules, now)
    return state


def _from_half(state: PaceState, band: Band, rules: PaceRules, now: datetime) -> PaceState:
    if band >= Band.HURT:
        return _pause(state, rules, now)
    stepped = state.memory.stepped_at
    if band is Band.PRESSED:
        if stepped is not None and now - stepped < rules.settle:
            return _calm(state, None)
        less = max(rules.least_share, state.share * rules.decrease)
        return _move(state, PaceLevel.HALF, less, rules, now)
    since = state.memory.calm_since or now
    if now - max(since, stepped or since) < rules.grow_every:
        return _calm(_recovering(state), since)
    more = min(1.0, round(state.share + rules.increase, 6))
    level = PaceLevel.FULL if more >= 1 else PaceLevel.HALF
    moved = _move(_recovering(state), level, more, rules, now)
    return _calm(moved, since)


def _from_probe(state: PaceState, band: Band, rules: PaceRules, now: datetime) -> PaceState:
    if band >= Band.HURT:
        wait = min(rules.longest_cool_down, 2 * (state.memory.cool_down or rules.cool_down))
        return _pause(state, rules, now, cool_down=wait)
    if band is Band.PRESSED:
        return _calm(state, None)
    since = state.memory.calm_since or now
    calm = _calm(_recovering(state), since)
    if now - since < rules.probe_time:
        return calm
    return replace(calm, memory=replace(calm.memory, is_probing=False, stepped_at=now))


def _from_paused(state: PaceState, band: Band, rules: PaceRules, now: datetime) -> PaceState:
    if band >= Band.HURT:
        return _calm(state, None)
    since = state.memory.calm_since or now
    cool_down = state.memory.cool_down or rules.cool_down
    if now - since < cool_down:
        left = (cool_down - (now - since)).total_seconds()
        told = replace(state, reason=f"{state.reason}; a probe follows after {left:.0f} s of this")
        return _calm(told, since)
    probe = _move(
        _recovering(state), PaceLevel.HALF, rules.least_share, rules, now, is_probing=True
    )
    return replace(probe, memory=replace(probe.memory, cool_down=cool_down))


def _pause(
    state: PaceState, rules: PaceRules, now: datetime, *, cool_down: timedelta | None = None
) -> PaceState:
    paused = _move(state, PaceLevel.PAUSED, rules.least_share, rules, now)
    return replace(paused, memory=replace(paused.memory, cool_down=cool_down))


def _recovering(state: PaceState) -> PaceState:
    return replace(state, reason=f"recovering; {state.reason}")


def _calm(state: PaceState, since: datetime | None) -> PaceState:
    return replace(state, memory=replace(state.memory, calm_since=since))


def _move(
    state: PaceState,
    level: PaceLevel,
    share: float,
    rules: PaceRules,
    now: datetime,
    *,
    is_probing: bool = False,
) -> PaceState:
    moved = replace(
        state,
        level=level,
        share=share,
        chunk_rows=rules.chunk_rows(share),
        memory=replace(
            state.memory,
            is_probing=is_probing,
            calm_since=None,
            stepped_at=now,
            cool_down=None,
        ),
    )
    return replace(moved, changed_at=now) if moved.differs_from(state) else moved
