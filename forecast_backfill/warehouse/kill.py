"""Kill: after it returns nothing of the old epoch can commit, and nothing of it holds a slot."""

from __future__ import annotations

import time
from dataclasses import dataclass

import psycopg

from forecast_backfill.core.errors import DatabaseInterrupted, KillIncomplete
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
class Unended:
    """A session of `role` with the process id `pid` that could not be ended, and why."""

    pid: int
    role: str
    why: str

    @property
    def as_text(self) -> str:
        """The session in one line."""
        return f"session {self.pid} of role {self.role}: {self.why}"

    @property
    def next_command(self) -> str:
        """What a database administrator has to do."""
        return f"as a superuser: SELECT pg_terminate_backend({self.pid})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Killed:
    """What a kill came to: the knobs after it, and how many sessions had to be ended for it.

    `unended` still hold a slot; they can commit nothing.
    """

    knobs: Knobs
    ended_commits: int
    ended_holders: int
    unended: tuple[Unended, ...] = ()


def kill(
    session: Session, workload: Workload, *, reason: str, changed_by: str, pauses: bool = False
) -> Killed:
    """Raise the epoch behind the commits in flight, then free the slots of the old epoch.

    With `pauses` the workload is paused before, so that nothing is tried again meanwhile and
    nothing of the new epoch starts until `reopen`. A commit that does not end (its worker was
    stopped) is ended with its session, and rolled back. Raises KillIncomplete where that session
    cannot be ended, DatabaseInterrupted where somebody else keeps the workload's row locked.
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
            if not is_locked:
                raise
            ended, unended = _end(session, GATE_CLASS, GATE_NUMBERS[workload])
            ended_commits += ended
            if attempts == _ATTEMPTS and unended:
                raise _incomplete(workload, unended, is_paused=pauses) from error
            if attempts == _ATTEMPTS:
                raise
    ended_holders, unended = _free_slots(session, FLIGHT_CLASSES[workload])
    return Killed(
        knobs=knobs, ended_commits=ended_commits, ended_holders=ended_holders, unended=unended
    )


def close_killed(session: Session, killed: Knobs, workload: Workload) -> int:
    """Record as failed what the kill left running, and how much that was.

    A worker that lives records its end by itself; one that was stopped, or is gone, does not.
    """
    with session.use() as connection:
        number: int = statements().fail_killed(
            connection, workload=workload, epoch=killed.epoch, reason=f"killed: {killed.reason}"
        )
    return number


def reopen(
    session: Session, workload: Workload, killed: Knobs, *, reason: str, changed_by: str
) -> Knobs | None:
    """End the pause of the kill that left these knobs; None where somebody paused or killed since.

    The epoch is raised once more: a run that began in the pause, and whose process could not be
    stopped, is over too.
    """
    with session.transaction() as connection:
        statements().lock_knobs(connection, workload=workload)
        if statements().find_stop(connection, workload=workload) != {
            "verb": "kill",
            "epoch": killed.epoch,
        }:
            return None
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


def _free_slots(session: Session, flight_class: int) -> tuple[int, tuple[Unended, ...]]:
    deadline = time.monotonic() + SLOT_PATIENCE_SECONDS
    while time.monotonic() < deadline:
        with session.use() as connection:
            if statements().count_holders(connection, lock_class=flight_class) == 0:
                return 0, ()
        time.sleep(_POLL_SECONDS)
    return _end(session, flight_class, None)


def _end(session: Session, lock_class: int, number: int | None) -> tuple[int, tuple[Unended, ...]]:
    """End who holds the lock, each by itself: one that may not be ended keeps no other."""
    ended = 0
    unended: dict[int, str] = {}
    for pid in _holders(session, lock_class, number):
        try:
            with session.use() as connection:
                if statements().end_session(connection, pid=pid):
                    ended += 1
                else:
                    unended[pid] = "it did not end within 5 s"
        except psycopg.errors.InsufficientPrivilege as error:
            unended[pid] = " ".join(str(error).split())
    left = _holders(session, lock_class, number) if unended else {}
    return ended, tuple(
        Unended(pid=pid, role=role, why=unended[pid])
        for pid, role in left.items()
        if pid in unended
    )


def _holders(session: Session, lock_class: int, number: int | None) -> dict[int, str]:
    with session.use() as connection:
        rows = statements().list_holders(connection, lock_class=lock_class, number=number)
        return {row["pid"]: row["role"] for row in rows}


def _incomplete(
    workload: Workload, unended: tuple[Unended, ...], *, is_paused: bool
) -> KillIncomplete:
    state = f"{workload} is paused, but " if is_paused else ""
    return KillIncomplete(
        f"the kill of {workload} is not done: {state}what is committing may still commit",
        why="; ".join(each.as_text for each in unended),
        next_command=f"{unended[0].next_command}; then the kill again",
    )
