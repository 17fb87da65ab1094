"""The cap at each tick: what admission allows, nothing where the database is silent, never late."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from forecast_backfill.core.admission import Conditions
from forecast_backfill.core.errors import DatabaseInterrupted
from forecast_backfill.core.states import Workload
from forecast_backfill.dagster_defs import live_cap
from forecast_backfill.dagster_defs.live_cap import LiveCap, OpenedControl
from forecast_backfill_tests.core.test_admission import QUIET

LOGGER = logging.getLogger("test.run_queue")


class Knobs:
    """The conditions that a test sets; `answer` is called at each look."""

    def __init__(self, answer: Callable[[], Conditions]) -> None:
        self.answer = answer

    def epoch(self, workload: Workload) -> int:
        return 1

    def conditions(self, workload: Workload) -> Conditions:
        assert workload is Workload.BACKFILL
        return self.answer()


def lost() -> Conditions:
    raise DatabaseInterrupted("the database went away", why="restart", next_command="none")


@pytest.fixture
def knobs() -> Knobs:
    return Knobs(lambda: QUIET)


@pytest.fixture
def cap(knobs: Knobs) -> LiveCap:
    return LiveCap(lambda: OpenedControl(control=knobs, close=lambda: None), LOGGER)


def test_the_slots_are_those_that_admission_allows_now(knobs: Knobs, cap: LiveCap) -> None:
    assert cap.slots() == 5
    knobs.answer = lambda: replace(QUIET, cap=1)
    assert cap.slots() == 1
    knobs.answer = lambda: replace(QUIET, is_paused=True, reason="deploy (ana)")
    assert cap.slots() == 0


def test_a_silent_database_means_none_told_once_and_once_when_it_is_back(
    knobs: Knobs, cap: LiveCap, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    knobs.answer = lost
    assert [cap.slots() for _ in range(3)] == [0, 0, 0]
    knobs.answer = lambda: QUIET
    assert [cap.slots() for _ in range(3)] == [5, 5, 5]
    assert [record.getMessage() for record in caplog.records] == [
        "backfill gets no run: the database went away: restart",
        "backfill gets 5 runs again: 8 slots less 3 for nightly",
    ]


def test_a_bug_in_a_look_stops_backfill_and_not_the_queue(knobs: Knobs, cap: LiveCap) -> None:
    def fail() -> Conditions:
        raise ZeroDivisionError

    knobs.answer = fail
    assert cap.slots() == 0


def test_a_database_that_hangs_holds_up_one_tick_and_none_after_it(
    knobs: Knobs, cap: LiveCap, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_cap, "PATIENCE_SECONDS", 0.1)
    released = threading.Event()

    def hang() -> Conditions:
        released.wait(30)
        return QUIET

    knobs.answer = hang
    assert cap.slots() == 0
    began = time.monotonic()
    assert cap.slots() == 0
    assert time.monotonic() - began < 0.09
    monkeypatch.setattr(live_cap, "PATIENCE_SECONDS", 5.0)
    knobs.answer = lambda: replace(QUIET, cap=2)
    released.set()
    deadline = time.monotonic() + 5
    while (found := cap.slots()) == 0:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert found == 2
