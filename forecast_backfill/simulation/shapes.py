"""What is simulated: nights of steps that follow each other, and a campaign of equal tasks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import NormalDist, fmean

from forecast_backfill.core.errors import UsageRefused
from forecast_backfill.core.night_state import NightHours
from forecast_backfill.core.peak import NightStep

QUANTILES = 20
EXAMPLE = "regions:40x3m,fit:1x20m@2,forecasts:40x30s"
_STAGE = re.compile(r"(\w+):(\d{1,6})x(\d+(?:\.\d+)?)([smh])(?:@(\d{1,6}))?")
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_P95 = NormalDist().inv_cdf(0.95)


@dataclass(frozen=True, slots=True, kw_only=True)
class NightTask:
    """`count` equal tasks that are ready `offset` seconds after the night's begin.

    Each takes `seconds` and `slots` at once.
    """

    shape: str
    offset: float
    seconds: float
    slots: int
    count: int

    @property
    def end(self) -> float:
        """When all of them end where none has to wait."""
        return self.offset + self.seconds


Stage = tuple[NightTask, ...]
"""Tasks that may be at work together; the next stage waits for the end of all of them."""

Night = tuple[Stage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """`tasks` partitions whose durations (seconds) are as likely as each other.

    `p95` is what admission before a hold takes for granted.
    """

    tasks: int
    durations: tuple[float, ...]
    p95: float

    def __post_init__(self) -> None:
        if self.tasks < 1 or not self.durations or min(self.durations) <= 0:
            raise ValueError(f"{self.tasks} tasks of {self.durations} seconds")

    @property
    def average(self) -> float:
        """Seconds of a task on average."""
        return fmean(self.durations)


def parse_night(text: str) -> Night:
    """Read a night such as EXAMPLE: stages of so many tasks, their time, and slots for each.

    Raises UsageRefused where it cannot be meant.
    """
    stages: list[Stage] = []
    offset = 0.0
    for part in (each.strip() for each in text.split(",")):
        found = _STAGE.fullmatch(part)
        if found is None or not int(found[2]) or not float(found[3]) or found[5] == "0":
            raise UsageRefused(
                f"{part!r} is no stage of a night",
                why="a stage is NAME:TASKSxTIME, and @SLOTS where a task needs more than one",
                next_command=f"forecast-backfill simulate --night '{EXAMPLE}'",
            )
        task = NightTask(
            shape=found[1],
            offset=offset,
            seconds=float(found[3]) * _UNITS[found[4]],
            slots=int(found[5] or 1),
            count=int(found[2]),
        )
        stages.append((task,))
        offset = task.end
    return tuple(stages)


def recorded_nights(steps: Iterable[NightStep], hours: NightHours) -> tuple[Night, ...]:
    """The nights on record, by date; a step waits for whatever had ended before it began."""
    nights: dict[datetime, list[NightTask]] = {}
    for each in steps:
        begin = hours.begins_at(each.night - timedelta(days=1))
        seconds = (each.usage.end - each.usage.start).total_seconds()
        if seconds > 0:
            task = NightTask(
                shape=each.usage.shape,
                offset=(each.usage.start - begin).total_seconds(),
                seconds=seconds,
                slots=each.usage.slots,
                count=1,
            )
            nights.setdefault(begin, []).append(task)
    return tuple(_stages(nights[begin]) for begin in sorted(nights))


def spread_durations(average: float, p95: float) -> tuple[float, ...]:
    """Twenty durations with this average, spread so that one in twenty is longer than the p95.

    The spread is that of a lognormal distribution; beyond 3.8 averages no p95 of one can lie.
    """
    ratio = max(1.0, p95 / average)
    sigma = _P95 - math.sqrt(max(0.0, _P95**2 - 2 * math.log(ratio)))
    normal = NormalDist(sigma=sigma) if sigma else None
    levels = [(number + 0.5) / QUANTILES for number in range(QUANTILES)]
    raw = [1.0 if normal is None else math.exp(normal.inv_cdf(level)) for level in levels]
    return scaled(raw, average)


def scaled(durations: Sequence[float], average: float) -> tuple[float, ...]:
    """The durations, stretched to this average."""
    factor = average / fmean(durations)
    return tuple(each * factor for each in durations)


def _stages(tasks: Iterable[NightTask]) -> Night:
    stages: list[list[NightTask]] = []
    end = -math.inf
    for task in sorted(tasks, key=lambda each: each.offset):
        if not stages or task.offset >= end:
            stages.append([])
        stages[-1].append(task)
        end = max(end, task.end)
    return tuple(tuple(stage) for stage in stages)
