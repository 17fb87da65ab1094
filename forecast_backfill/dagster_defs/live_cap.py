"""The cap of backfill as it is now, read once a tick by whoever serves the run queue."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass

from forecast_backfill.app.operate import InForce, in_force
from forecast_backfill.core.errors import ForecastBackfillError
from forecast_backfill.core.states import Workload
from forecast_backfill.ports import Control
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.connect import Session, resolve_database_url
from forecast_backfill.wiring.control import control_of

PATIENCE_SECONDS = 2.0
"""How long a tick waits for the answer; the nightly runs in the same queue wait with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedControl:
    """The knobs, and how what they are read over is closed."""

    control: Control
    close: Callable[[], None]


OpenControl = Callable[[], OpenedControl]
_GOES = "goes"


class LiveCap:
    """What admission would let backfill hold now; nothing where the database does not say.

    Each look has a thread of its own, which the tick leaves behind when it takes too long: neither
    a database that hangs nor a slow signal holds up the queue. Pace is sampled by the way.
    """

    def __init__(self, open_control: OpenControl, logger: logging.Logger) -> None:
        self._open_control = open_control
        self._logger = logger
        self._opened: OpenedControl | None = None
        self._lock = threading.Lock()
        self._left_behind: _Look | None = None
        self._told = _GOES

    def slots(self) -> int:
        """The slots that backfill may hold now; that there are none is logged once, with why."""
        found = self.look()
        # By cause: a reason may carry a number that is another one at each tick.
        state = found.cause if found.slots == 0 else _GOES
        if state != self._told:
            self._told = state
            if state is _GOES:
                self._logger.info("backfill gets %d runs again: %s", found.slots, found.reason)
            else:
                self._logger.warning("backfill gets no run: %s", found.reason)
        return found.slots

    def look(self) -> InForce:
        """The slots that backfill may hold now, and why; logs nothing."""
        with self._lock:
            return self._read()

    def close(self) -> None:
        """Close what the knobs are read over."""
        if self._opened is not None:
            self._opened.close()

    def _read(self) -> InForce:
        if self._left_behind is not None and not self._left_behind.is_over:
            return _unknown("the database does not answer")
        look = _Look(self._decide)
        answer = look.wait(PATIENCE_SECONDS)
        self._left_behind = look if answer is None else None
        return answer or _unknown(f"the database did not answer within {PATIENCE_SECONDS:.0f} s")

    def _decide(self) -> InForce:
        try:
            if self._opened is None:
                self._opened = self._open_control()
            conditions = self._opened.control.conditions(Workload.BACKFILL)
            return in_force(Workload.BACKFILL, conditions)
        except ForecastBackfillError as error:
            return _unknown(f"{error.what}: {error.why}")
        except Exception as error:  # noqa: BLE001 — a bug here must not stop the nightly's queue
            return _unknown(f"{type(error).__name__}: {error}")


class _Look:
    """One decision under way in a thread that dies with the process."""

    def __init__(self, decide: Callable[[], InForce]) -> None:
        self.is_over = False
        self._answer: InForce | None = None
        self._decide = decide
        self._thread = threading.Thread(target=self._run, name="live-cap", daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> InForce | None:
        """The decision, None where it is not there yet."""
        self._thread.join(seconds)
        return self._answer

    def _run(self) -> None:
        self._answer = self._decide()
        self.is_over = True


def open_live_control(settings: Settings) -> OpenedControl:
    """The knobs over a session whose statements are given up soon."""
    hurried = settings.model_copy(
        update={
            "statement_timeout_seconds": PATIENCE_SECONDS,
            "lock_timeout_seconds": PATIENCE_SECONDS / 2,
        }
    )
    session = Session(resolve_database_url(settings), Workload.BACKFILL, hurried, name="run queue")
    return OpenedControl(control=control_of(hurried, session), close=session.close)


def _unknown(reason: str) -> InForce:
    return InForce(slots=0, cause=None, reason=reason)
