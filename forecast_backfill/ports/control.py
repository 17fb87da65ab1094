"""What admits a partition and makes it wait: workload, slots, rate, clock."""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from forecast_backfill.core.admission import Conditions, WaitCause
from forecast_backfill.core.bucket import BucketLevel
from forecast_backfill.core.states import Workload
from forecast_backfill.ports.request import RunRequest


class Control(Protocol):
    """The knobs that on-call turns, and what admission is decided by."""

    def epoch(self, workload: Workload) -> int:
        """The workload's current epoch."""
        ...

    def conditions(self, workload: Workload) -> Conditions:
        """The knobs, holds and pace as of now; health is measured first where that is due."""
        ...


class Slots(Protocol):
    """The engine's slots, shared by every process; a crash frees its slots."""

    def try_acquire(
        self, limit: int, weight: int = 1
    ) -> AbstractContextManager[tuple[int, ...]] | None:
        """`weight` slots with an index below `limit`, held for the block; None where too few are
        free."""
        ...


class Waits(Protocol):
    """The record of who waits for what, and for how long."""

    def add(
        self, request: RunRequest, cause: WaitCause, *, reason: str, seconds: float, is_over: bool
    ) -> None:
        """The run waited so many more seconds for `cause`; until it is over it counts as held."""
        ...


class Rate(Protocol):
    """The token bucket of each workload, shared by every worker of it."""

    def take(self, workload: Workload, rows: int) -> BucketLevel:
        """Take a turn of `rows`; its number is `taken` of the level."""
        ...

    def look(self, workload: Workload) -> BucketLevel:
        """The level now, at the rate that is asked for now."""
        ...

    def give_back(self, workload: Workload, rows: int) -> None:
        """A turn of `rows` that will not be used: those after it come so much earlier."""
        ...


class Clock(Protocol):
    """Time, injected: nothing below the wiring looks at a clock."""

    def now(self) -> datetime:
        """The current instant, aware, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that only grow."""
        ...

    def sleep(self, seconds: float) -> None: ...
