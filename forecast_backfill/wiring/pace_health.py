"""The pace as a worker meets it: looks at the signals go on beside its work, not in its way."""

from __future__ import annotations

import time
import weakref
from datetime import datetime
from functools import cached_property
from threading import Event, Thread

import psycopg

from forecast_backfill.app.pacing import sample_if_due
from forecast_backfill.core.errors import ForecastBackfillError
from forecast_backfill.core.pace import Pace, PaceState
from forecast_backfill.ports.signal import PacePorts
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.pace import PostgresPace
from forecast_backfill.wiring.pace import pace_ports

KEEP_SECONDS = 0.25
"""Far below the interval of the looks, and below that of a task that waits at a boundary."""
LONGEST_INTERVALS = 8


class PaceHealth:
    """The pace at every boundary for one query at most; called with the database's clock.

    What was read is kept for a moment. From the first call on a thread looks whenever that is due,
    however long a partition takes, with a session of its own that is open only meanwhile; the
    worker goes by the last look until then. Where nobody has looked for long, it looks itself.
    Among many workers one does the looking: who finds it done comes by more and more seldom.
    """

    def __init__(self, settings: Settings, session: Session) -> None:
        self._settings = settings
        self._session = session
        self._kept: tuple[PaceState, float] | None = None
        self._wake = Event()
        self._thread: Thread | None = None
        self._is_closed = False

    @cached_property
    def _ports(self) -> PacePorts:
        return pace_ports(self._settings, self._session)

    def __call__(self, now: datetime | None = None) -> Pace:
        """The pace that holds now.

        Raises DatabaseInterrupted where the database went away.
        """
        return self.state(now).pace

    def state(self, now: datetime | None = None) -> PaceState:
        """The pace that holds now, with its signal and instants."""
        kept = self._kept
        if kept is not None and time.monotonic() - kept[1] < KEEP_SECONDS:
            return kept[0]
        state = self._read(now)
        self._kept = (state, time.monotonic())
        return state

    def close(self) -> None:
        """End the looks beside the work; one that goes on comes to its end."""
        self._is_closed = True
        self._wake.set()

    def _read(self, now: datetime | None) -> PaceState:
        self._start()
        state, clock = self._ports.store.read()
        at, rules = now or clock, self._ports.rules
        if not state.is_due(rules, at):
            return state
        if not state.is_trusted(rules, at):
            return sample_if_due(self._ports, now)
        self._wake.set()
        return state

    def _start(self) -> None:
        if self._is_closed or (self._thread is not None and self._thread.is_alive()):
            return
        self._thread = Thread(
            target=_look_on,
            args=(weakref.ref(self), self._wake, self._ports.rules.interval.total_seconds()),
            name="look at production",
            daemon=True,
        )
        self._thread.start()

    def look(self) -> bool:
        """Look where it is due; whether it was. A database that is away is met by the worker."""
        session = Session(self._session.url, self._session.workload, self._settings)
        try:
            ports = self._ports.over(PostgresPace(session))
            state, clock = ports.store.read()
            if not state.is_due(ports.rules, clock):
                return False
            sample_if_due(ports)
            self._kept = None
        except (ForecastBackfillError, psycopg.Error):
            return False
        else:
            return True
        finally:
            session.close()

    @property
    def is_closed(self) -> bool:
        """Whether the looks beside the work were ended."""
        return self._is_closed


def _look_on(found: weakref.ref[PaceHealth], wake: Event, interval: float) -> None:
    """Until it is closed or nobody has it any more."""
    patience = interval
    while True:
        wake.wait(patience)
        wake.clear()
        health = found()
        if health is None or health.is_closed:
            return
        has_looked = health.look()
        del health
        patience = interval if has_looked else min(2 * patience, LONGEST_INTERVALS * interval)
