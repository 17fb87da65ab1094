"""The most slots that nightly held at one time, by a sweep over what its steps held and when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date as Date
from datetime import datetime, timedelta

from forecast_backfill.core.night_state import NightHours


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """One step held `slots` slots in `[start, end)`, aware UTC; `shape` names the kind of step."""

    shape: str
    start: datetime
    end: datetime
    slots: int

    def __post_init__(self) -> None:
        if self.end < self.start:
            raise ValueError(f"{self.shape} ends at {self.end}, before it starts at {self.start}")
        if self.slots < 1:
            raise ValueError(f"{self.shape} holds {self.slots} slots")


@dataclass(frozen=True, slots=True, kw_only=True)
class NightStep:
    """A usage as it was recorded: of the night that began on `night` (local), in a run's step."""

    night: Date
    run_id: str
    step: str
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Peak:
    """The most slots held at once, first reached at `at` (None: nothing was ever held).

    `by_shape` has the most that each shape held by itself, `together` what was held at `at`.
    """

    slots: int
    at: datetime | None
    by_shape: Mapping[str, int]
    together: Mapping[str, int]


def sweep(usages: Iterable[Usage]) -> Peak:
    """Go over all starts and ends in order of time; what ends frees its slots before what starts.

    A usage of no length holds nothing.
    """
    held: Counter[str] = Counter()
    most: Counter[str] = Counter()
    peak = Peak(slots=0, at=None, by_shape={}, together={})
    for at, change, shape in _changes(usages):
        held[shape] += change
        most[shape] = max(most[shape], held[shape])
        if held.total() > peak.slots:
            peak = Peak(slots=held.total(), at=at, by_shape={}, together=dict(+held))
    return Peak(slots=peak.slots, at=peak.at, by_shape=dict(most), together=peak.together)


def held_over_time(usages: Iterable[Usage]) -> tuple[tuple[datetime, int], ...]:
    """The slots held from each instant at which they change; the last entry is 0."""
    steps: dict[datetime, int] = {}
    held = 0
    for at, change, _ in _changes(usages):
        held += change
        steps[at] = held
    return tuple(steps.items())


def night_of(start: datetime, hours: NightHours) -> Date:
    """The local date on which the night began that an instant belongs to; a night has 24 hours."""
    local = start.astimezone(hours.zone).replace(tzinfo=None)
    at = timedelta(hours=hours.nightly_time.hour, minutes=hours.nightly_time.minute)
    return (local - at).date()


def by_night(steps: Iterable[NightStep]) -> Mapping[Date, Sequence[Usage]]:
    """The usages of each night."""
    nights: dict[Date, list[Usage]] = {}
    for each in steps:
        nights.setdefault(each.night, []).append(each.usage)
    return nights


def _changes(usages: Iterable[Usage]) -> list[tuple[datetime, int, str]]:
    changes: list[tuple[datetime, int, str]] = []
    for each in usages:
        if each.end > each.start:
            changes.append((each.start, each.slots, each.shape))
            changes.append((each.end, -each.slots, each.shape))
    return sorted(changes)
