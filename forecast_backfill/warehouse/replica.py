"""Reads from a replica, but only from one that has all that the primary had when it was asked."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from forecast_backfill.core.errors import DatabaseInterrupted, DatabaseUnavailable
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.connect import Session, mask_password
from forecast_backfill.warehouse.statements import statements

T = TypeVar("T")

_POLL_SECONDS = 0.1
_log = logging.getLogger(__name__)


class Replica:
    """A replica at a URL; it is connected to for one read at a time."""

    def __init__(self, url: str, settings: Settings) -> None:
        self._url = url
        self._settings = settings

    def read(self, primary: Session, read: Callable[[Session], T]) -> T | None:
        """What `read` finds on the replica once it has replayed all that the primary has now.

        None where it does not catch up within the patience of the settings, is not a replica of
        this primary, or fails on the way: the caller then reads the primary.
        """
        with primary.use() as connection:
            asked = statements().read_position(connection)
        if asked["position"] is None:
            return None
        session = Session(self._url, primary.workload, self._settings, name="window read")
        try:
            reason = self._why_not(session, asked["position"], asked["system"])
            if reason is None:
                return read(session)
        except (DatabaseInterrupted, DatabaseUnavailable) as error:
            reason = error.why
        finally:
            session.close()
        _log.warning("the primary is read, not %s: %s", mask_password(self._url), reason)
        return None

    def _why_not(self, session: Session, position: str, system: int) -> str | None:
        deadline = time.monotonic() + self._settings.replica_patience_seconds
        while True:
            with session.use() as connection:
                found = statements().read_replayed(connection, position=position)
            if found["system"] != system:
                return "it belongs to another primary"
            if found["has_caught_up"]:
                return None
            if time.monotonic() >= deadline:
                return f"it had not replayed {position} in time"
            time.sleep(_POLL_SECONDS)
