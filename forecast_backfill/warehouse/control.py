"""The knobs of a workload in PostgreSQL: each turn is one guarded update with its history row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg

from forecast_backfill.core.admission import Conditions
from forecast_backfill.core.errors import DatabaseUnavailable
from forecast_backfill.core.hold import HoldWindow
from forecast_backfill.core.pace import Pace, PaceLevel
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


_NO_OUTLOOK = NightOutlook(peak=0, holds=(), partition_seconds=0.0)
_FULL_PACE = Pace(level=PaceLevel.FULL, share=1.0, chunk_rows=8192, reason="")

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
        is_nightly = workload is Workload.NIGHTLY
        # Neither is anything to nightly, which is not to wait for them to be read either.
        outlook = _NO_OUTLOOK if is_nightly else self._outlook(now)
        pace = _FULL_PACE if is_nightly else self._health(now)
        return Conditions(
            now=now,
            epoch=row["epoch"],
            is_paused=row["intent"] == "paused",
            reason=row["reason"],
            cap=row["cap"],
            slots=self._settings.slots,
            nightly_peak=outlook.peak,
            reserved=max(
                self._settings.fit_slots if row["is_fit_due"] else 0, row["nightly_waiting"]
            ),
            holds=outlook.holds,
            pace=pace,
            partition_seconds=outlook.partition_seconds,
            rate=row["rate"],
            cap_reason=row["cap_reason"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One turn of a knob: who, when, why, and what then held."""

    at: datetime
    verb: str
    epoch: int
    intent: str
    cap: int | None
    rate: int | None
    reason: str
    changed_by: str


def read_knobs(session: Session, workload: Workload) -> Knobs:
    """The knobs as they are turned now."""
    with session.use() as connection:
        return Knobs(**statements().read_knobs(connection, workload=workload))


def find_pause(session: Session, workload: Workload) -> tuple[str, str] | None:
    """The reason of the workload's last pause, and who gave it; None where it never was paused."""
    with session.use() as connection:
        row = statements().find_pause(connection, workload=workload)
    return None if row is None else (row["reason"], row["changed_by"])


def list_changes(session: Session, workload: Workload, *, limit: int) -> tuple[Change, ...]:
    """The last turns of the workload's knobs, the latest first."""
    with session.use() as connection:
        rows = list(statements().list_changes(connection, workload=workload, limit=limit))
    return tuple(Change(**row) for row in rows)


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

    `cap` and `rate` are left alone where None, else set to the one value in them. Raises
    DatabaseUnavailable where the role may not.
    """
    try:
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
    except psycopg.errors.InsufficientPrivilege as error:
        raise _without_right(workload, connection.info.user, error) from error
    return Knobs(**row)


def _without_right(workload: Workload, role: str, error: Exception) -> DatabaseUnavailable:
    return DatabaseUnavailable(
        f"role {role} may not turn the knobs of {workload}",
        why=" ".join(str(error).split()),
        next_command="as the tables' owner: GRANT SELECT, UPDATE ON "
        f"forecast_backfill.workload_control TO {role}; GRANT INSERT ON "
        f"forecast_backfill.workload_change TO {role}",
    )
