"""Signals of the primary's load: connections in use, and WAL written a second."""

from __future__ import annotations

import time
from collections.abc import Mapping

from forecast_backfill.core.signal import (
    CONNECTION_USE,
    WAL_RATE,
    Look,
    Measured,
    Thresholds,
)
from forecast_backfill.warehouse.signals.link import Link
from forecast_backfill.warehouse.statements import statements

LONGEST_SPAN_SECONDS = 60.0
FIRST_SPAN_SECONDS = 0.1


class ConnectionUse:
    """The share of the connections open to ordinary roles that is in use."""

    name = CONNECTION_USE

    def __init__(self, primary: Link, thresholds: Thresholds) -> None:
        self._primary = primary
        self.thresholds = thresholds

    def look(self, notes: Mapping[str, object]) -> Look:
        """Count them now."""
        row = statements().connection_use(self._primary.connection())
        return Look(reading=Measured(value=row["used"] / row["allowed"]))


class WalRate:
    """Bytes of WAL a second since the last look."""

    name = WAL_RATE

    def __init__(self, primary: Link, thresholds: Thresholds) -> None:
        self._primary = primary
        self.thresholds = thresholds

    def look(self, notes: Mapping[str, object]) -> Look:
        """Compare with the last look; where that is long ago or another server's, look twice."""
        position, at = self._position()
        before, since = notes.get("position"), notes.get("at")
        if not _is_usable(before, since, position, at):
            before, since = position, at
            time.sleep(FIRST_SPAN_SECONDS)
            position, at = self._position()
        rate = (position - float(str(before))) / (at - float(str(since)))
        return Look(reading=Measured(value=rate), notes={"position": position, "at": at})

    def _position(self) -> tuple[float, float]:
        row = statements().wal_position(self._primary.connection())
        return float(row["position"]), float(row["at"])


def _is_usable(before: object, since: object, position: float, at: float) -> bool:
    if not isinstance(before, int | float) or not isinstance(since, int | float):
        return False
    return before <= position and FIRST_SPAN_SECONDS <= at - since <= LONGEST_SPAN_SECONDS
