"""The event-driven run of one policy: equal tasks start and end in groups, not one by one."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import simpy

from forecast_backfill.simulation.policies import Limit
from forecast_backfill.simulation.shapes import Campaign, NightTask

Steps = Generator[simpy.Event, Any, None]
"""A SimPy process."""

DAY = 86_400.0
EXACT_TASKS = 20_000
"""Up to so many tasks each end is simulated at its own moment."""

GRAINS_PER_TASK = 50
"""Beyond, ends within a fiftieth of an average task are one event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Slots held from `at` (seconds since the launch) on."""

    at: float
    nightly: int
    backfill: int


@dataclass(slots=True, kw_only=True)
class NightLog:
    """What became of one night, in seconds since its begin: when each shape first started."""

    begin: float
    first_start: dict[str, float] = field(default_factory=dict[str, float])
    end: float | None = None


@dataclass(slots=True, kw_only=True)
class _Waiting:
    """Tasks of a night that are ready; `ended` fires when the last of them has ended."""

    task: NightTask
    left: int
    running: int
    log: NightLog
    ended: simpy.Event


class Machine:
    """The slots, who holds them, and who waits; everything happens in `dispatch`."""

    def __init__(
        self,
        *,
        slots: int,
        limit: Limit,
        has_priority: bool,
        campaign: Campaign | None,
        first_night: float,
        lead: float,
        seed: int,
    ) -> None:
        self.env = simpy.Environment()
        self.samples: list[Sample] = []
        self.campaign_done = self.env.event()
        self._slots = slots
        self._limit = limit
        self._has_priority = has_priority
        self._campaign = campaign
        self._left = 0 if campaign is None else campaign.tasks
        self._first_night, self._lead = first_night, lead
        self._random = random.Random(seed)
        self._nightly = self._backfill = 0
        self._nights_ended = 0
        self._waiting: deque[_Waiting] = deque()
        self._ends: dict[float, list[Callable[[], None]]] = {}
        self._backfill_ends: dict[float, int] = {}
        self._grain = 0.0
        if campaign is not None and campaign.tasks > EXACT_TASKS:
            self._grain = campaign.average / GRAINS_PER_TASK
        if campaign is None:
            self.campaign_done.succeed()

    def add(self, task: NightTask, log: NightLog) -> simpy.Event:
        """Tasks of a night are ready; the event fires when they have ended."""
        waiting = _Waiting(task=task, left=task.count, running=0, log=log, ended=self.env.event())
        self._waiting.append(waiting)
        self.dispatch()
        return waiting.ended

    def end_night(self) -> None:
        """A night is over: what was held for it is free."""
        self._nights_ended += 1
        self.dispatch()

    def dispatch(self) -> None:
        """Start whatever may start now."""
        if not self._has_priority:
            # First come, first served: the whole campaign was there before any later night.
            self._start_backfill()
            if not self._left:
                self._start_nightly()
        else:
            self._start_nightly()
            if not self._waiting:
                self._start_backfill()
        self._sample()

    @property
    def _free(self) -> int:
        return self._slots - self._nightly - self._backfill

    def _start_nightly(self) -> None:
        while self._waiting:
            waiting = self._waiting[0]
            task = waiting.task
            # More slots than there are would wait for ever.
            each = min(task.slots, self._slots)
            count = min(waiting.left, self._free // each)
            if not count:
                return
            waiting.log.first_start.setdefault(task.shape, self.env.now - waiting.log.begin)
            waiting.left -= count
            waiting.running += count
            self._nightly += count * each
            self._at(task.seconds, partial(self._end_nightly, waiting, count, each))
            if not waiting.left:
                self._waiting.popleft()

    def _end_nightly(self, waiting: _Waiting, count: int, each: int) -> None:
        self._nightly -= count * each
        waiting.running -= count
        if not waiting.left and not waiting.running:
            waiting.ended.succeed()

    def _start_backfill(self) -> None:
        if not self._left or self._campaign is None:
            return
        limit = self._limit(self.env.now, is_night_over=self._is_night_over())
        count = min(self._left, limit - self._backfill, self._free)
        if count <= 0:
            return
        self._left -= count
        self._backfill += count
        for seconds, share in self._draw(count, self._campaign.durations):
            end = self._moment(seconds)
            if end not in self._backfill_ends:
                self._backfill_ends[end] = 0
                self._at(end - self.env.now, partial(self._end_backfill, end))
            self._backfill_ends[end] += share

    def _end_backfill(self, end: float) -> None:
        self._backfill -= self._backfill_ends.pop(end)
        if not self._left and not self._backfill:
            self.campaign_done.succeed()

    def _draw(self, count: int, durations: Sequence[float]) -> list[tuple[float, int]]:
        share, rest = divmod(count, len(durations))
        extra = set(self._random.sample(range(len(durations)), rest))
        drawn = ((each, share + (number in extra)) for number, each in enumerate(durations))
        return [(seconds, tasks) for seconds, tasks in drawn if tasks]

    def _moment(self, seconds: float) -> float:
        end = self.env.now + seconds
        if not self._grain:
            return end
        # To the nearest grain: rounding up would make every task longer by half of one.
        return max(round(end / self._grain) * self._grain, self.env.now + self._grain / 2)

    def _at(self, delay: float, act: Callable[[], None]) -> None:
        self.env.process(self._ring(delay, act))

    def _ring(self, delay: float, act: Callable[[], None]) -> Steps:
        yield self.env.timeout(delay)
        act()
        self.dispatch()

    def wake(self, at: float) -> None:
        """Look again at a moment at which the limit changes by the clock."""
        self._at(at - self.env.now, lambda: None)

    def _is_night_over(self) -> bool:
        begun = int((self.env.now + self._lead - self._first_night) // DAY) + 1
        return self._nights_ended >= begun

    def _sample(self) -> None:
        sample = Sample(at=self.env.now, nightly=self._nightly, backfill=self._backfill)
        if self.samples and self.samples[-1].at == sample.at:
            self.samples[-1] = sample
        elif not self.samples or (self.samples[-1].nightly, self.samples[-1].backfill) != (
            sample.nightly,
            sample.backfill,
        ):
            self.samples.append(sample)
