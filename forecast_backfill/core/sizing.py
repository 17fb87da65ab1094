"""How long a campaign takes, when it would end, and whether holds cut it into several nights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from forecast_backfill.core.hold import HoldWindow, most_held

HORIZON = timedelta(days=30)
"""A campaign that is not through by then is not planned further."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSeconds:
    """Seconds of a task, on average and at the 95th percentile; `source` says whose they are."""

    average: float
    p95: float
    source: str

    def __post_init__(self) -> None:
        if not 0 < self.average <= self.p95:
            raise ValueError(f"{self.average} s on average and {self.p95} s at the 95th percentile")


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What a campaign may use: `cap` of `slots`, less what `holds` hold."""

    slots: int
    cap: int
    holds: tuple[HoldWindow, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A stretch without a stop: so many tasks surely end in it, all of them by `end`."""

    start: datetime
    end: datetime
    tasks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizing:
    """A campaign of `tasks` that would start at `start`, in `waves` of as many as the cap.

    It ends between `earliest` (average tasks, no slot idle) and `latest` (whole waves of tasks that
    all take the 95th percentile); each is None where it lies beyond HORIZON. `parts` are the
    stretches into which holds cut it, one where they do not. `advice` says what to do about it.
    """

    tasks: int
    waves: int | None
    task_seconds: float
    start: datetime
    earliest: datetime | None
    latest: datetime | None
    parts: tuple[Part, ...]
    advice: str

    @property
    def is_split(self) -> bool:
        """Whether it is better launched in several parts."""
        return len(self.parts) > 1


def size_campaign(*, tasks: int, each: TaskSeconds, room: Room, start: datetime) -> Sizing:
    """Size a campaign that starts at `start` (aware UTC).

    Raises ValueError where `tasks` is negative.
    """
    if tasks < 0:
        raise ValueError(f"{tasks} tasks cannot be done")
    stretches = tuple(_stretches(each, room, start))
    waves = -(-tasks // room.cap) if room.cap else None
    earliest = latest = start if tasks == 0 else None
    if waves:
        worst = waves * room.cap * each.p95
        earliest = _end(stretches, work=tasks * each.average, seconds=each.average)
        latest = _end(stretches, work=worst, seconds=each.p95)
    parts = tuple(_parts(tasks, each, stretches, latest))
    return Sizing(
        tasks=tasks,
        waves=waves,
        task_seconds=tasks * each.average,
        start=start,
        earliest=earliest,
        latest=latest,
        parts=parts,
        advice=_advice(tasks, room, latest, parts),
    )


_Stretch = tuple[datetime, datetime, int]
"""From, to, and how many tasks may be at work."""


def _stretches(each: TaskSeconds, room: Room, start: datetime) -> Iterator[_Stretch]:
    length = timedelta(seconds=each.p95)
    end = start + HORIZON
    edges = {start, end}
    for hold in room.holds:
        edges |= {hold.start - length, hold.start, hold.end}
    for begin, until in pairwise(sorted(edge for edge in edges if start <= edge <= end)):
        # What starts at the edge itself may end at the very begin of a hold: asked in the middle.
        held = most_held(begin + (until - begin) / 2, length, room.holds)
        yield begin, until, max(0, min(room.cap, room.slots - held))


def _end(stretches: Sequence[_Stretch], *, work: float, seconds: float) -> datetime | None:
    """When so many slot-seconds of tasks of `seconds` are done; None beyond the stretches.

    A slot that may start nothing more before a hold still ends the task that it has.
    """
    begun: datetime | None = None
    before = 0
    for begin, until, free in stretches:
        at_work = max(0, before - free)
        if at_work and work <= at_work * seconds:
            return begin + timedelta(seconds=work / at_work)
        work -= at_work * seconds
        before = free
        if free == 0:
            continue
        begun = begin if begun is None else begun
        done = free * (until - begin).total_seconds()
        if done >= work:
            return max(begin + timedelta(seconds=work / free), begun + timedelta(seconds=seconds))
        work -= done
    return None


def _parts(
    tasks: int, each: TaskSeconds, stretches: Sequence[_Stretch], latest: datetime | None
) -> Iterator[Part]:
    left = tasks
    length = timedelta(seconds=each.p95)
    for start, until, room in _without_stop(stretches, each.p95):
        fitting = min(left, room)
        left -= fitting
        if fitting:
            end = until + length if left or latest is None else latest
            yield Part(start=start, end=end, tasks=fitting)
        if not left:
            return


def _without_stop(
    stretches: Sequence[_Stretch], seconds: float
) -> Iterator[tuple[datetime, datetime, int]]:
    """Neighbouring stretches in which something may start, and the tasks that surely end.

    Whole tasks one after the other in each slot, and those that start at the very last moment.
    """
    start: datetime | None = None
    end, room, last = None, 0, 0
    for begin, until, free in stretches:
        if free:
            start = begin if start is None else start
            room += free * int((until - begin).total_seconds() / seconds)
            end, last = until, free
        elif start is not None and end is not None:
            yield start, end, room + last
            start, room = None, 0
    if start is not None and end is not None:
        yield start, end, room + last


def _advice(tasks: int, room: Room, latest: datetime | None, parts: Sequence[Part]) -> str:
    if tasks == 0:
        return "nothing is left to do"
    if room.cap == 0:
        return f"the cap is 0 of {room.slots} slots: nothing would ever run"
    if latest is None and not parts:
        return f"holds leave it no room in {HORIZON.days} days"
    if latest is None:
        return f"it is not through in {HORIZON.days} days: launch a smaller range"
    if len(parts) > 1:
        first = parts[0]
        return (
            f"split it: {first.tasks} tasks end before {first.end:%Y-%m-%d %H:%M} UTC, when slots "
            "are held; launch the rest after the hold"
        )
    return "in one go: no hold stops it on the way"
