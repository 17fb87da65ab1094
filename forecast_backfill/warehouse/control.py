"""The knobs of a workload in PostgreSQL."""

from __future__ import annotations

from forecast_backfill.core.states import Workload
from forecast_backfill.ports import ControlState
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.statements import statements


class PostgresControl:
    """What on-call wants of each workload, over one session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def read(self, workload: Workload) -> ControlState:
        """What the workload is told now."""
        with self._session.use() as connection:
            row = statements().read_control(connection, workload=workload)
        return ControlState(
            epoch=row["epoch"],
            is_paused=row["intent"] == "paused",
            cap=row["cap"],
            reason=row["reason"],
        )

    def raise_epoch(self, workload: Workload, *, reason: str, changed_by: str) -> int:
        """Kill: wait for commits in flight, then let nothing of the old epoch commit; the new one.

        Raises DatabaseInterrupted where a commit in flight outlasts the lock timeout.
        """
        with self._session.use() as connection:
            row = statements().raise_epoch(
                connection, workload=workload, reason=reason, changed_by=changed_by
            )
        epoch: int = row["epoch"]
        return epoch
