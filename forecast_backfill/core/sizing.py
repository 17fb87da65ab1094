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
    """A stretch without a stop: so many tasks surely end in it."""

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
        earliest = _end(stretches, work=tasks * each.average, at_least=each.average)
        latest = _end(stretches, work=worst, at_least=each.p95)
    parts = tuple(_parts(tasks, each, stretches))
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


def _end(stretches: Sequence[_Stretch], *, work: float, at_least: float) -> datetime | None:
    """When so many slot-seconds are done; None where that lies beyond the stretches."""
    begun: datetime | None = None
    for begin, until, free in stretches:
        if free == 0:
            continue
        begun = begin if begun is None else begun
        done = free * (until - begin).total_seconds()
        if done >= work:
            end = begin + timedelta(seconds=work / free)
            return max(end, begun + timedelta(seconds=at_least))
        work -= done
    return None


def _parts(tasks: int, each: TaskSeconds, stretches: Sequence[_Stretch]) -> Iterator[Part]:
    left = tasks
    for begin, until, seconds in _without_stop(stretches):
        fitting = min(left, int(seconds / each.p95))
        if fitting:
            yield Part(start=begin, end=until, tasks=fitting)
        left -= fitting
        if left <= 0:
            return


def _without_stop(stretches: Sequence[_Stretch]) -> Iterator[tuple[datetime, datetime, float]]:
    """Neighbouring stretches in which something may run, with their slot-seconds."""
    open_part: tuple[datetime, datetime, float] | None = None
    for begin, until, free in stretches:
        if free == 0:
            if open_part is not None:
                yield open_part
            open_part = None
            continue
        seconds = free * (until - begin).total_seconds()
        first, _, before = open_part or (begin, until, 0.0)
        open_part = (first, until, before + seconds)
    if open_part is not None:
        yield open_part


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
