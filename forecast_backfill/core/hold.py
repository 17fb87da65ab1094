"""Slots held for nightly over time: what backfill may use at one moment depends on what is held."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from datetime import date as Date
from itertools import pairwise

from forecast_backfill.core.night_profile import LONGEST_NIGHT, NightProfile
from forecast_backfill.core.night_state import NightHours

OVERRUN = timedelta(minutes=15)
"""How far ahead a night that has outlasted every recorded one is held for; judged again by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldWindow:
    """`slots` are held for nightly in `[start, end)`, aware UTC; holding all closes backfill."""

    start: datetime
    end: datetime
    slots: int
    reason: str

    def __post_init__(self) -> None:
        if self.end <= self.start:
            raise ValueError(f"a hold from {self.start} to {self.end} holds nothing")
        if self.slots < 0:
            raise ValueError(f"a hold of {self.slots} slots is no hold")


def holds_at(now: datetime, holds: Iterable[HoldWindow]) -> int:
    """The slots held at `now`: holds that overlap share their slots, so the largest counts."""
    return max((each.slots for each in holds if each.start <= now < each.end), default=0)


def next_hold_start(now: datetime, holds: Iterable[HoldWindow]) -> datetime | None:
    """The first later instant from which more is held than now; None where there is none."""
    windows = tuple(holds)
    held = holds_at(now, windows)
    later = (each.start for each in windows if each.start > now and each.slots > held)
    return min(later, default=None)


def most_held(start: datetime, length: timedelta, holds: Iterable[HoldWindow]) -> int:
    """The most slots held at any instant of `[start, start + length)`, and at `start` itself.

    What a partition that takes `length` has to leave free when it starts at `start`.
    """
    end = start + length
    met = (each for each in holds if each.start <= start < each.end or start < each.start < end)
    return max((each.slots for each in met), default=0)


def holds_for(
    now: datetime,
    *,
    hours: NightHours,
    lead: timedelta,
    profile: NightProfile,
    has_ended_tonight: bool,
    calendar: Iterable[HoldWindow] = (),
    nights: int = 1,
) -> tuple[HoldWindow, ...]:
    """The holds of tonight and of the next `nights`, and those of the calendar, by their start.

    Tonight is the last night whose lead has begun; `has_ended_tonight` tells that it is over, and
    then nothing of it is held. While it is not over, its peak is held beyond the profile's end, for
    LONGEST_NIGHT at most.
    """
    tonight = _tonight(now, hours, lead)
    holds = list(calendar)
    if not has_ended_tonight:
        holds += _held(_begins_at(tonight, hours), lead, profile)
        holds += _overrun(now, _begins_at(tonight, hours), profile)
    for number in range(1, nights + 1):
        begin = _begins_at(tonight + timedelta(days=number), hours)
        holds += _held(begin, lead, profile)
    return tuple(sorted(holds, key=lambda each: (each.start, each.end)))


def tonight_of(now: datetime, hours: NightHours, lead: timedelta) -> Date:
    """The business date of the last night whose lead has begun: the local date before its begin."""
    return _tonight(now, hours, lead) - timedelta(days=1)


def _tonight(now: datetime, hours: NightHours, lead: timedelta) -> Date:
    today = (now + lead).astimezone(hours.zone).date()
    return today if _begins_at(today, hours) - lead <= now else today - timedelta(days=1)


def _begins_at(night: Date, hours: NightHours) -> datetime:
    # In UTC: the difference of two wall times of one zone would forget a change of clocks.
    return hours.begins_at(night - timedelta(days=1)).astimezone(UTC)


def _held(begin: datetime, lead: timedelta, profile: NightProfile) -> Iterator[HoldWindow]:
    for number, ((since, slots), (until, _)) in enumerate(pairwise(profile.steps)):
        yield HoldWindow(
            start=begin - lead if number == 0 else begin + since,
            end=begin + until,
            slots=slots,
            reason=f"nightly of {begin:%Y-%m-%d %H:%M} UTC needs up to {slots} slots",
        )


def _overrun(now: datetime, begin: datetime, profile: NightProfile) -> Iterator[HoldWindow]:
    expected = begin + profile.length
    end = min(now + OVERRUN, begin + LONGEST_NIGHT)
    if profile.peak and expected <= now < end:
        yield HoldWindow(
            start=expected,
            end=end,
            slots=profile.peak,
            reason=f"nightly of {begin:%Y-%m-%d %H:%M} UTC has not ended yet",
        )
