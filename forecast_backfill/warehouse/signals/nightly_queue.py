"""How long nightly's oldest queued run has been waiting, from Dagster's own table of runs."""

from __future__ import annotations

from collections.abc import Mapping

from forecast_backfill.core.signal import (
    NIGHTLY_QUEUE_WAIT,
    Look,
    Measured,
    NotApplicable,
    Thresholds,
)
from forecast_backfill.warehouse.signals.link import Link
from forecast_backfill.warehouse.statements import statements


class NightlyQueueWait:
    """Seconds since nightly's oldest queued run was made; 0 where none is queued."""

    name = NIGHTLY_QUEUE_WAIT

    def __init__(self, primary: Link, thresholds: Thresholds) -> None:
        self._primary = primary
        self.thresholds = thresholds

    def look(self, notes: Mapping[str, object]) -> Look:
        """Ask Dagster's table, which is not there where Dagster has never run on this database."""
        connection = self._primary.connection()
        if not statements().has_dagster_runs(connection)["is_there"]:
            return Look(reading=NotApplicable(reason="Dagster keeps no runs in this database"))
        row = statements().nightly_queue_wait(connection)
        wait = row["wait"]
        seconds = 0.0 if wait is None else max(0.0, wait.total_seconds())
        return Look(reading=Measured(value=seconds))
