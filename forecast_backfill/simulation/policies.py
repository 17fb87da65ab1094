"""How many slots backfill may hold at a simulated moment, and who goes first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol, assert_never

from forecast_backfill.core.capacity import cap_for
from forecast_backfill.core.hold import HoldWindow, holds_for, most_held
from forecast_backfill.core.night_profile import NightProfile
from forecast_backfill.core.night_state import NightHours


class Policy(StrEnum):
    """The ways to share the slots that are compared."""

    NO_CAP = "no cap"
    PRIORITY = "priority only"
    CAP_FROM_IDLE = "cap from idle"
    CAP_FROM_PEAK = "cap from peak"
    NIGHT_RESERVATION = "night reservation"

    @property
    def has_priority(self) -> bool:
        """Whether nightly is served before backfill that has waited longer."""
        return self is not Policy.NO_CAP


class Limit(Protocol):
    """Slots that backfill may hold, by seconds since the launch."""

    def __call__(self, at: float, *, is_night_over: bool) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """What policies are given: slots, nightly's peak and profile, and when nights begin.

    `launched_at` is the instant (aware UTC) of second 0, `idle` the slots that were idle then.
    """

    slots: int
    headroom: int
    peak: int
    idle: int
    profile: NightProfile
    hours: NightHours
    lead: timedelta
    launched_at: datetime
    p95: float


def limit_of(policy: Policy, known: Knowledge) -> Limit:
    """The policy's limit."""
    match policy:
        case Policy.NO_CAP | Policy.PRIORITY:
            return _constant(known.slots)
        case Policy.CAP_FROM_IDLE:
            return _constant(min(known.slots, known.idle))
        case Policy.CAP_FROM_PEAK:
            reserved = known.peak + known.headroom
            return _constant(cap_for(slots=known.slots, nightly_peak=reserved, asked=None))
        case Policy.NIGHT_RESERVATION:
            return _ByNight(known)
        case _:
            assert_never(policy)


def changes_of(policy: Policy, known: Knowledge, until: float) -> Iterator[float]:
    """The seconds at which the limit may change by the clock alone."""
    if policy is not Policy.NIGHT_RESERVATION:
        return
    days = int(until // 86_400) + 2
    holds = _holds(known, known.launched_at, is_night_over=False, nights=days)
    for hold in holds:
        for edge in (hold.start - timedelta(seconds=known.p95), hold.start, hold.end):
            at = (edge - known.launched_at).total_seconds()
            if 0 < at < until:
                yield at


class _ByNight:
    """cap(t) = slots less what is held before a task that starts at t has ended."""

    def __init__(self, known: Knowledge) -> None:
        self._known = known

    def __call__(self, at: float, *, is_night_over: bool) -> int:
        known = self._known
        now = known.launched_at + timedelta(seconds=at)
        holds = _holds(known, now, is_night_over=is_night_over, nights=1)
        held = most_held(now, timedelta(seconds=known.p95), holds)
        return max(0, known.slots - known.headroom - held)


def _holds(
    known: Knowledge, now: datetime, *, is_night_over: bool, nights: int
) -> tuple[HoldWindow, ...]:
    return holds_for(
        now,
        hours=known.hours,
        lead=known.lead,
        profile=known.profile,
        has_ended_tonight=is_night_over,
        nights=nights,
    )


def _constant(slots: int) -> Limit:
    def limit(at: float, *, is_night_over: bool) -> int:
        return slots

    return limit
