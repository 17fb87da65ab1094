"""Who waits for what, and for how long: one row a run and cause."""

from __future__ import annotations

from dataclasses import dataclass

from forecast_backfill.core.admission import WaitCause
from forecast_backfill.core.states import Workload
from forecast_backfill.ports import RunRequest
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.statements import statements

HELD_SECONDS = 5.0
"""How long after its last word a run counts as held: many polls, so only a dead one expires."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitSum:
    """Seconds waited for one cause, how many runs it holds now, and why (None: it holds none)."""

    cause: WaitCause
    seconds: float
    held: int
    reason: str | None


class PostgresWaits:
    """The record of waits, over one session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(
        self, request: RunRequest, cause: WaitCause, *, reason: str, seconds: float, is_over: bool
    ) -> None:
        """The run waited so many more seconds for `cause`; until it is over it counts as held."""
        with self._session.use() as connection:
            statements().add_wait(
                connection,
                run_id=request.run_id,
                cause=cause,
                workload=request.workload,
                campaign_id=request.campaign_id,
                reason=reason,
                seconds=seconds,
                held_seconds=0.0 if is_over else HELD_SECONDS,
            )


def sum_waits(
    session: Session, workload: Workload, campaign_id: str | None = None
) -> tuple[WaitSum, ...]:
    """Waited seconds by cause of one campaign, or of every run of the workload."""
    with session.use() as connection:
        rows = list(statements().sum_waits(connection, workload=workload, campaign_id=campaign_id))
    return tuple(WaitSum(**row | {"cause": WaitCause(row["cause"])}) for row in rows)


def sum_work(session: Session, workload: Workload, campaign_id: str | None = None) -> float:
    """Seconds at work in partitions that ended, of one campaign or of every run of the workload."""
    with session.use() as connection:
        seconds: float = statements().sum_work(
            connection, workload=workload, campaign_id=campaign_id
        )
    return seconds
