"""The pace of a workload in PostgreSQL, its history, and a person's reset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.types.json import Jsonb

from forecast_backfill.core.errors import DatabaseInterrupted, UsageRefused
from forecast_backfill.core.pace import PaceLevel, PaceRules, PaceState
from forecast_backfill.core.pace_memory import PaceMemory, memory_from_json, memory_to_json
from forecast_backfill.core.pace_steps import RESET_COMMAND, reset
from forecast_backfill.core.pressure import Pressure
from forecast_backfill.core.states import Workload
from forecast_backfill.ports.signal import StoredPace
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.statements import statements

SAMPLING_CLASS = 0x7061_6365
"""The first half of the lock's key: the bytes of "pace". The second half is the workload."""
DEPUTY_CLASS = 0x7061_6366
"""The same of whoever looks in the place of a process that was stopped while it looked."""
STUCK_SECONDS = 60.0
"""A look takes a few seconds; one whose session was silent for so long is not waited for."""
ITSELF = "pace"
"""Who changed the pace where no person did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceEvent:
    """One change of pace: `signal` and `value` None where no signal was the cause."""

    at: datetime
    old_level: PaceLevel
    level: PaceLevel
    share: float
    chunk_rows: int
    signal: str | None
    value: float | None
    reason: str
    changed_by: str


class PostgresPace:
    """The pace of one workload, over one session."""

    def __init__(self, session: Session, workload: Workload = Workload.BACKFILL) -> None:
        self._session = session
        self._workload = workload

    def read(self) -> tuple[PaceState, datetime]:
        """The pace without its memory, and the database's clock: one cheap query."""
        with self._session.use() as connection:
            row = statements().read_pace(connection, workload=self._workload)
        return _state(row, PaceMemory()), row["now"]

    def try_sampling(self) -> AbstractContextManager[StoredPace] | None:
        """The right to look at the signals, for the block; None while another process looks.

        A crash gives it back: it is a lock of the session. One who was stopped keeps it, and a
        deputy looks meanwhile; what either of them stores is guarded by the revision.
        """
        with self._session.use() as connection:
            for lock_class in (SAMPLING_CLASS, DEPUTY_CLASS):
                asked = {"lock_class": lock_class, "workload": self._workload}
                if statements().try_sampling(connection, **asked)["is_taken"]:
                    return self._sampling(self._session.generation, lock_class)
                if not statements().is_sampling_stuck(connection, **asked, seconds=STUCK_SECONDS):
                    return None
        return None

    @contextmanager
    def _sampling(self, generation: int, lock_class: int) -> Iterator[StoredPace]:
        try:
            yield self._read_whole()
        finally:
            if self._session.is_open(generation):
                with self._session.use() as connection:
                    statements().end_sampling(
                        connection, lock_class=lock_class, workload=self._workload
                    )

    def store(self, before: StoredPace, after: PaceState) -> PaceState:
        """Put the new state in the place of `before`, with an event where the pace is another one.

        What holds now: where a person has changed the pace meanwhile, theirs.
        """
        if self._replace(before, after, changed_by=ITSELF):
            return after
        return self._read_whole().state

    def reset(self, by: str, reason: str, *, rules: PaceRules | None = None) -> PaceState:
        """A person ends a trip or a pause; the state now, to be measured before anything starts.

        A pace that lets work start is left as it is.
        Raises UsageRefused without a name or a reason.
        """
        if not by.strip() or not reason.strip():
            raise UsageRefused(
                "the pace was not reset",
                why="a reset names who resets it and why",
                next_command=RESET_COMMAND,
            )
        # A look may store its state at any time: a few tries, each against what holds then.
        for _ in range(100):
            before = self._read_whole()
            if not before.state.level.is_stopped:
                return before.state
            after = reset(
                before.state, by=by, reason=reason, rules=rules or PaceRules(), now=before.now
            )
            if self._replace(before, after, changed_by=by):
                return after
        raise DatabaseInterrupted(
            "the pace was not reset",
            why="it changes faster than it can be reset",
            next_command=RESET_COMMAND,
        )

    def events(self, limit: int = 20) -> Sequence[PaceEvent]:
        """The last changes of pace, newest first."""
        with self._session.use() as connection:
            rows = list(
                statements().read_pace_events(connection, workload=self._workload, limit=limit)
            )
        levels = ("old_level", "level")
        return tuple(
            PaceEvent(**row | {name: PaceLevel(row[name]) for name in levels}) for row in rows
        )

    def pressures(self) -> Sequence[Pressure]:
        """What every signal that applies showed at the last look."""
        return self._read_whole().state.memory.pressures

    def _read_whole(self) -> StoredPace:
        with self._session.use() as connection:
            row = statements().read_whole_pace(connection, workload=self._workload)
        return StoredPace(
            state=_state(row, memory_from_json(row["state"])),
            revision=row["revision"],
            now=row["now"],
        )

    def _replace(self, before: StoredPace, after: PaceState, *, changed_by: str) -> bool:
        shared = {
            "workload": self._workload,
            "level": after.level,
            "share": after.share,
            "chunk_rows": after.chunk_rows,
            "signal": after.signal,
            "value": after.value,
            "reason": after.reason,
        }
        is_event = changed_by != ITSELF or after.differs_from(before.state)
        with self._session.transaction() as connection:
            changed: int = statements().store_pace(
                connection,
                **shared,
                revision=before.revision,
                changed_at=after.changed_at,
                sampled_at=after.sampled_at,
                state=Jsonb(memory_to_json(after.memory)),
            )
            if changed and is_event:
                statements().add_pace_event(
                    connection, **shared, old_level=before.state.level, changed_by=changed_by
                )
        return changed == 1


def _state(row: Mapping[str, Any], memory: PaceMemory) -> PaceState:
    return PaceState(
        level=PaceLevel(row["level"]),
        share=row["share"],
        chunk_rows=row["chunk_rows"],
        signal=row["signal"],
        value=row["value"],
        reason=row["reason"],
        changed_at=row["changed_at"],
        sampled_at=row["sampled_at"],
        memory=memory,
    )
