"""How hard one signal presses: by level and slope, with hysteresis, and for how long it is red."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import IntEnum
from itertools import pairwise
from typing import assert_never

from forecast_backfill.core.signal import (
    Measured,
    NotApplicable,
    SignalLook,
    Thresholds,
    Unreadable,
)


class Band(IntEnum):
    """Where a signal stands; a higher band is worse."""

    CALM = 0
    PRESSED = 1
    HURT = 2
    RED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PressureRules:
    """How values become bands.

    A band that was entered is left below `release` of its threshold. A value that has risen at each
    of the last `points` looks, is over `slope_floor` of the half threshold, and would reach the
    pause threshold within `ahead`, presses already. Red that lasts `trip_after`
    trips. What was remembered over a silence longer than `longest_gap` proves nothing.
    """

    release: float = 0.7
    points: int = 3
    ahead: timedelta = timedelta(seconds=30)
    slope_floor: float = 0.5
    trip_after: timedelta = timedelta(minutes=5)
    longest_gap: timedelta = timedelta(seconds=30)

    def __post_init__(self) -> None:
        if not 0 < self.release < 1 or not 0 < self.slope_floor < 1:
            raise ValueError("release and slope_floor are parts of a threshold")
        if self.points < 2:
            raise ValueError("a slope needs two points")


Point = tuple[datetime, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressure:
    """What is known of one signal after a look; `value` None where it could not be read.

    `red_since` is when its unbroken red began; `points` are the last values, oldest first.
    """

    name: str
    band: Band
    value: float | None
    reason: str
    red_since: datetime | None = None
    points: tuple[Point, ...] = ()


def judge_look(
    before: Pressure | None, seen: SignalLook, rules: PressureRules, now: datetime
) -> Pressure | None:
    """The pressure after a look; None where the signal does not apply here."""
    match seen.look.reading:
        case NotApplicable():
            return None
        case Unreadable(reason=reason):
            return Pressure(
                name=seen.name,
                band=Band.RED,
                value=None,
                reason=f"{seen.name} cannot be read: {reason}",
                red_since=_red_since(before, now),
            )
        case Measured(value=value, detail=detail):
            pressure = _judge_value(before, seen, value, rules, now)
            reason = f"{pressure.reason} ({detail})" if detail else pressure.reason
            return replace(pressure, reason=reason)
        case _:
            assert_never(seen.look.reading)


def _judge_value(
    before: Pressure | None, seen: SignalLook, value: float, rules: PressureRules, now: datetime
) -> Pressure:
    limits, earlier = seen.thresholds, () if before is None else before.points
    points = (*earlier, (now, value))[-rules.points :]
    band = _band(Band.CALM if before is None else before.band, value, limits, rules)
    reason = _describe(seen.name, band, value, limits)
    if band is Band.CALM and value >= rules.slope_floor * limits.half:
        slope = _slope(points) if len(points) == rules.points else 0.0
        if value + slope * rules.ahead.total_seconds() >= limits.pause:
            band = Band.PRESSED
            seconds = (limits.pause - value) / slope
            reason = (
                f"{seen.name} is {limits.show(value)} and rises: it reaches "
                f"{limits.show(limits.pause)} in about {seconds:.0f} s"
            )
    return Pressure(
        name=seen.name,
        band=band,
        value=value,
        reason=reason,
        red_since=_red_since(before, now) if band is Band.RED else None,
        points=points,
    )


def _band(before: Band, value: float, limits: Thresholds, rules: PressureRules) -> Band:
    for band in (Band.RED, Band.HURT, Band.PRESSED):
        limit = _limit(band, limits)
        if value >= limit or (before >= band and value >= rules.release * limit):
            return band
    return Band.CALM


def _limit(band: Band, limits: Thresholds) -> float:
    match band:
        case Band.CALM:
            return 0.0
        case Band.PRESSED:
            return limits.half
        case Band.HURT:
            return limits.pause
        case Band.RED:
            return limits.trip
        case _:
            assert_never(band)


def _describe(name: str, band: Band, value: float, limits: Thresholds) -> str:
    shown = f"{name} is {limits.show(value)}"
    if band is Band.CALM:
        return f"{shown}, below {limits.show(limits.half)}"
    limit = _limit(band, limits)
    if value >= limit:
        return f"{shown}, the limit is {limits.show(limit)}"
    return f"{shown}, not yet well below the limit of {limits.show(limit)}"


def _red_since(before: Pressure | None, now: datetime) -> datetime:
    return now if before is None or before.red_since is None else before.red_since


def _slope(points: Sequence[Point]) -> float:
    """Units a second, where every point is above the one before it; else 0."""
    values = [value for _, value in points]
    if any(later <= earlier for earlier, later in pairwise(values)):
        return 0.0
    seconds = (points[-1][0] - points[0][0]).total_seconds()
    return (values[-1] - values[0]) / seconds if seconds > 0 else 0.0
