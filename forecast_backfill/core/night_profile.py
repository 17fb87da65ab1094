"""How many slots nightly may still need, by the time since the night began."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date as Date
from datetime import datetime, timedelta
from itertools import pairwise

from forecast_backfill.core.peak import Usage, held_over_time

GRAIN = timedelta(minutes=5)

LONGEST_NIGHT = timedelta(hours=12)
"""What nightly does later (a late file in the afternoon) belongs to no night's profile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NightProfile:
    """`steps` are (time since the night began, slots that nightly may need from then on).

    Times rise from zero, slots fall: what lies ahead may come early, what lies behind is over. The
    last step has 0 slots, and its time is when the longest night ended. No step: nothing is needed.
    """

    steps: tuple[tuple[timedelta, int], ...]

    def __post_init__(self) -> None:
        for (before, more), (after, less) in pairwise(self.steps):
            if after <= before or less >= more:
                raise ValueError(f"a profile of {more} slots at {before}, then {less} at {after}")
        if self.steps and (self.steps[0][0] != timedelta() or self.steps[-1][1] != 0):
            raise ValueError("a profile begins with the night and ends with 0 slots")

    @property
    def peak(self) -> int:
        """The most slots that it holds."""
        return self.steps[0][1] if self.steps else 0

    @property
    def length(self) -> timedelta:
        """From the night's begin to the end of the longest one."""
        return self.steps[-1][0] if self.steps else timedelta()


def flat_profile(slots: int, length: timedelta) -> NightProfile:
    """The profile of a night of which only the peak and the length are known."""
    if slots == 0 or length <= timedelta():
        return NightProfile(steps=())
    return NightProfile(steps=((timedelta(), slots), (length, 0)))


def profile_of(
    nights: Mapping[Date, Sequence[Usage]], begins_at: Mapping[Date, datetime]
) -> NightProfile:
    """The profile over all nights: at each time the most that any of them held then or later.

    Times are rounded up to GRAIN. `begins_at` has the scheduled begin of each night.
    """
    needed: dict[timedelta, int] = {}
    for night, usages in nights.items():
        for until, slots in _held_until(usages, begins_at[night]):
            needed[until] = max(needed.get(until, 0), slots)
    steps: list[tuple[timedelta, int]] = []
    most = 0
    for until in sorted(needed, reverse=True):
        if needed[until] > most:
            steps.append((until, most))
            most = needed[until]
    if not steps:
        return NightProfile(steps=())
    return NightProfile(steps=((timedelta(), most), *reversed(steps)))


def _held_until(usages: Iterable[Usage], begin: datetime) -> Iterable[tuple[timedelta, int]]:
    """(end of a stretch since the begin, slots held in it)."""
    for (_, slots), (end, _) in pairwise(held_over_time(usages)):
        grains = -((begin - end) // GRAIN)
        until = grains * GRAIN
        if slots and timedelta() < until <= LONGEST_NIGHT:
            yield until, slots
