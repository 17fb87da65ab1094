"""Waiting for slots: what is recorded, and that nothing is left behind, however the wait ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pytest

from forecast_backfill.app.admission import admitted
from forecast_backfill.core.admission import Conditions, WaitCause
from forecast_backfill.core.errors import DatabaseInterrupted, EpochRaised
from forecast_backfill.core.states import Workload
from forecast_backfill.ports import RunRequest
from forecast_backfill_tests.core.test_admission import QUIET

REQUEST = RunRequest(workload=Workload.BACKFILL, run_id="r1", campaign_id="spring", epoch=1)
PAUSED = replace(QUIET, is_paused=True, reason="deploy (ana)")


@dataclass
class Engine:
    """Every port of admission in one: conditions in turn, two slots, and a record of it all."""

    turns: list[Conditions]
    free: int = 2
    slept: Callable[[], None] = lambda: None
    fails_to_record: bool = False
    seconds: float = 0.0
    waits: list[tuple[WaitCause, float, bool]] = field(default_factory=list)

    def conditions(self, workload: Workload) -> Conditions:
        return self.turns.pop(0) if len(self.turns) > 1 else self.turns[0]

    def epoch(self, workload: Workload) -> int:
        return 1

    def try_acquire(self, limit: int, weight: int = 1):
        if weight > min(limit, self.free):
            return None
        self.free -= weight
        return self._held(weight)

    @contextmanager
    def _held(self, weight: int) -> Iterator[tuple[int, ...]]:
        try:
            yield tuple(range(weight))
        finally:
            self.free += weight

    def add(self, request, cause, *, reason, seconds, is_over) -> None:
        if is_over and self.fails_to_record:
            raise DatabaseInterrupted("lost", why="test", next_command="none")
        self.waits.append((cause, seconds, is_over))

    def now(self):
        raise AssertionError("nobody asks")

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        self.slept()


@dataclass
class Ports:
    """The engine behind each of the ports."""

    engine: Engine

    def __getattr__(self, name: str) -> Engine:
        return self.engine


def test_a_free_slot_is_taken_at_once_and_no_wait_is_recorded() -> None:
    engine = Engine([QUIET])
    with admitted(REQUEST, Ports(engine)):
        assert engine.free == 1
    assert (engine.free, engine.waits) == (2, [])


def test_each_cause_gets_its_own_seconds_and_is_over_when_the_next_begins() -> None:
    engine = Engine([PAUSED, PAUSED, replace(QUIET, cap=0), QUIET])
    with admitted(REQUEST, Ports(engine)):
        pass
    assert engine.waits == [
        (WaitCause.PAUSE, 0.5, False),
        (WaitCause.PAUSE, 0.5, False),
        (WaitCause.PAUSE, 0.0, True),
        (WaitCause.CAP, 0.5, False),
        (WaitCause.CAP, 0.0, True),
    ]


def test_slots_that_are_all_taken_are_waited_for_as_the_cap() -> None:
    engine = Engine([QUIET], free=0)

    def free_one() -> None:
        engine.free = 1

    engine.slept = free_one
    with admitted(REQUEST, Ports(engine)):
        assert engine.free == 0
    assert engine.waits[0] == (WaitCause.CAP, 0.5, False)


def test_a_fit_heavier_than_the_cap_takes_the_cap_instead_of_waiting_for_ever() -> None:
    engine = Engine([replace(QUIET, cap=1)])
    with admitted(REQUEST, Ports(engine), weight=3):
        assert engine.free == 1


def test_a_wait_whose_end_cannot_be_recorded_costs_neither_the_task_nor_the_slot() -> None:
    engine = Engine([PAUSED, QUIET], fails_to_record=True)
    with admitted(REQUEST, Ports(engine)):
        assert engine.free == 1
    assert engine.free == 2


def test_a_task_that_is_told_to_stop_while_it_waits_no_longer_counts_as_held() -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    engine = Engine([PAUSED], slept=stop)
    with pytest.raises(KeyboardInterrupt), admitted(REQUEST, Ports(engine)):
        raise AssertionError("nothing may start")
    assert engine.waits == [(WaitCause.PAUSE, 0.0, True)]


def test_a_kill_ends_the_wait() -> None:
    engine = Engine([PAUSED, replace(PAUSED, epoch=2)])
    with (
        pytest.raises(EpochRaised, match="epoch 1, now it is 2"),
        admitted(REQUEST, Ports(engine)),
    ):
        raise AssertionError("nothing may start")
    assert engine.waits[-1] == (WaitCause.PAUSE, 0.0, True)
    assert engine.free == 2


def test_a_task_that_fails_frees_its_slot() -> None:
    engine = Engine([QUIET])
    with pytest.raises(ZeroDivisionError), admitted(REQUEST, Ports(engine)):
        raise ZeroDivisionError
    assert engine.free == 2
