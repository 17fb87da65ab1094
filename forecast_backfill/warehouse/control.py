"""The knobs of a workload in PostgreSQL: each turn is one guarded update with its history row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg

from forecast_backfill.core.admission import Conditions
from forecast_backfill.core.hold import HoldWindow
from forecast_backfill.core.pace import Pace
from forecast_backfill.core.states import Workload
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.statements import statements


@dataclass(frozen=True, slots=True, kw_only=True)
class Knobs:
    """A workload's knobs; `cap` None is automatic, `rate` (rows a second) None is no limit."""

    epoch: int
    intent: str
    cap: int | None
    rate: int | None
    reason: str
    changed_by: str
    changed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NightOutlook:
    """What recent nights say: slots that nightly needs at most, when they are held, and how long a
    partition of backfill takes at the 95th percentile."""

    peak: int
    holds: tuple[HoldWindow, ...]
    partition_seconds: float


Outlook = Callable[[datetime], NightOutlook]
"""The outlook at an instant; reads the database, and keeps what changes slowly."""

Health = Callable[[datetime], Pace]
"""The pace at an instant; measures health first where that is due."""


class PostgresControl:
    """What on-call wants of each workload and what admission is decided by, over one session."""

    def __init__(
        self, session: Session, settings: Settings, *, outlook: Outlook, health: Health
    ) -> None:
        self._session = session
        self._settings = settings
        self._outlook = outlook
        self._health = health

    def epoch(self, workload: Workload) -> int:
        """The workload's current epoch."""
        with self._session.use() as connection:
            epoch: int = statements().read_epoch(connection, workload=workload)["epoch"]
        return epoch

    def conditions(self, workload: Workload) -> Conditions:
        """The knobs, holds and pace as of now; health is measured first where that is due."""
        with self._session.use() as connection:
            row = statements().read_conditions(connection, workload=workload)
        now: datetime = row["now"]
        outlook = self._outlook(now)
        return Conditions(
            now=now,
            epoch=row["epoch"],
            is_paused=row["intent"] == "paused",
            reason=f"{row['reason']} ({row['changed_by']})",
            cap=row["cap"],
            slots=self._settings.slots,
            nightly_peak=outlook.peak,
            reserved=self._settings.fit_slots if row["is_fit_due"] else 0,
            holds=outlook.holds,
            pace=self._health(now),
            partition_seconds=outlook.partition_seconds,
        )


def change_knobs(
    connection: psycopg.Connection[Any],
    workload: Workload,
    verb: str,
    *,
    reason: str,
    changed_by: str,
    intent: str | None = None,
    cap: tuple[int | None] | None = None,
    rate: tuple[int | None] | None = None,
    epochs: int = 0,
) -> Knobs:
    """Turn knobs and record who did, and why; what then holds.

    `cap` and `rate` are left alone where None, else set to the one value in them.
    """
    row = statements().change_control(
        connection,
        workload=workload,
        verb=verb,
        intent=intent,
        sets_cap=cap is not None,
        cap=None if cap is None else cap[0],
        sets_rate=rate is not None,
        rate=None if rate is None else rate[0],
        epochs=epochs,
        reason=reason,
        changed_by=changed_by,
    )
    return Knobs(**row)
