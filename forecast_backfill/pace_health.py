"""The pace as a worker meets it: looks at the signals go on beside its work, not in its way."""

from __future__ import annotations

import time
from datetime import datetime
from threading import Thread

import psycopg

from forecast_backfill.app.pacing import sample_if_due
from forecast_backfill.core.errors import ForecastBackfillError
from forecast_backfill.core.pace import Pace, PaceState
from forecast_backfill.pace_wiring import pace_ports
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.pace import PostgresPace

KEEP_SECONDS = 0.25
"""Far below the interval of the looks, and below that of a task that waits at a boundary."""


class PaceHealth:
    """The pace at every boundary for one query at most; called with the database's clock.

    What was read is kept for a moment. Where a look is due and the last one is still trusted, a
    thread looks, with a session of its own that is open only meanwhile, and the worker goes by the
    last one until then. Where nobody has looked for long, it looks itself before it goes on.
    """

    def __init__(self, settings: Settings, session: Session) -> None:
        self._settings = settings
        self._session = session
        self._ports = pace_ports(settings, session)
        self._looking: Thread | None = None
        self._kept: tuple[PaceState, float] | None = None

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

    def _read(self, now: datetime | None) -> PaceState:
        state, clock = self._ports.store.read()
        at, rules = now or clock, self._ports.rules
        if not state.is_due(rules, at):
            return state
        if not state.is_trusted(rules, at):
            return sample_if_due(self._ports, now)
        if self._looking is None or not self._looking.is_alive():
            self._looking = Thread(target=self._look, name="look at production", daemon=True)
            self._looking.start()
        return state

    def wait(self, seconds: float) -> None:
        """Let a look that goes on come to its end."""
        if self._looking is not None:
            self._looking.join(seconds)

    def _look(self) -> None:
        session = Session(self._session.url, self._session.workload, self._settings)
        try:
            sample_if_due(self._ports.over(PostgresPace(session)))
        except (ForecastBackfillError, psycopg.Error):
            # The state grows old, and the worker meets the same trouble when it looks itself.
            return
        finally:
            session.close()
            self._kept = None
