"""Kill: after it returns nothing of the old epoch can commit, and nothing of it holds a slot."""

from __future__ import annotations

import time
from dataclasses import dataclass

import psycopg

from forecast_backfill.core.errors import DatabaseInterrupted
from forecast_backfill.core.states import Workload
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.control import Knobs, change_knobs
from forecast_backfill.warehouse.fences import GATE_CLASS, GATE_NUMBERS
from forecast_backfill.warehouse.leases import FLIGHT_CLASSES
from forecast_backfill.warehouse.statements import statements

COMMIT_PATIENCE_SECONDS = 1.0
"""How long commits in flight may take before their sessions are ended; one takes far less."""

SLOT_PATIENCE_SECONDS = 2.0
"""How long tasks may take to notice before the sessions that hold their slots are ended."""

_POLL_SECONDS = 0.1
_ATTEMPTS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Killed:
    """What a kill came to: the knobs after it, and how many sessions had to be ended for it."""

    knobs: Knobs
    ended_commits: int
    ended_holders: int


def kill(
    session: Session, workload: Workload, *, reason: str, changed_by: str, pauses: bool = False
) -> Killed:
    """Raise the epoch behind the commits in flight, then free the slots of the old epoch.

    With `pauses` the workload is paused before, so that nothing is tried again meanwhile and
    nothing of the new epoch starts until `reopen`. A commit that does not end (its worker was
    stopped) is ended with its session, and rolled back. Raises DatabaseInterrupted where somebody
    else keeps the workload's row locked.
    """
    if pauses:
        with session.transaction() as connection:
            change_knobs(
                connection,
                workload,
                "pause",
                reason=reason,
                changed_by=changed_by,
                intent="paused",
            )
    ended_commits = attempts = 0
    while True:
        attempts += 1
        try:
            knobs = _raise(session, workload, reason=reason, changed_by=changed_by)
            break
        except DatabaseInterrupted as error:
            is_locked = isinstance(error.__cause__, psycopg.errors.LockNotAvailable)
            if not is_locked or attempts == _ATTEMPTS:
                raise
            ended_commits += _end(session, GATE_CLASS, GATE_NUMBERS[workload])
    ended_holders = _free_slots(session, FLIGHT_CLASSES[workload])
    return Killed(knobs=knobs, ended_commits=ended_commits, ended_holders=ended_holders)


def reopen(session: Session, workload: Workload, *, reason: str, changed_by: str) -> Knobs:
    """End the pause of a kill. The epoch is raised once more: a run that began in the pause, and
    whose process could not be stopped, is over too."""
    with session.transaction() as connection:
        return change_knobs(
            connection,
            workload,
            "resume",
            reason=reason,
            changed_by=changed_by,
            intent="running",
            epochs=1,
        )


def _raise(session: Session, workload: Workload, *, reason: str, changed_by: str) -> Knobs:
    with session.transaction() as connection:
        statements().set_lock_timeout(
            connection, timeout=f"{round(COMMIT_PATIENCE_SECONDS * 1000)}ms"
        )
        statements().close_gate(connection, gate_class=GATE_CLASS, number=GATE_NUMBERS[workload])
        return change_knobs(
            connection, workload, "kill", reason=reason, changed_by=changed_by, epochs=1
        )


def _free_slots(session: Session, flight_class: int) -> int:
    deadline = time.monotonic() + SLOT_PATIENCE_SECONDS
    while time.monotonic() < deadline:
        with session.use() as connection:
            if statements().count_holders(connection, lock_class=flight_class) == 0:
                return 0
        time.sleep(_POLL_SECONDS)
    return _end(session, flight_class, None)


def _end(session: Session, lock_class: int, number: int | None) -> int:
    with session.use() as connection:
        rows = statements().terminate_holders(connection, lock_class=lock_class, number=number)
        return sum(1 for _ in rows)
