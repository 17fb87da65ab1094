"""The engine's slots as advisory locks: a crash closes the connection and so frees its slots."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from forecast_backfill.core.errors import DatabaseInterrupted
from forecast_backfill.core.states import Workload
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.statements import statements

SLOT_CLASS = 0x736C_6F74
"""The first half of a slot's lock: the bytes of "slot". The second half is the index."""

FLIGHT_CLASSES = {Workload.NIGHTLY: 0x666C_796E, Workload.BACKFILL: 0x666C_7962}
"""A second lock under the same index says whose slot it is: the bytes of "flyn" and "flyb"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flight:
    """A slot that is held now, and the database connection `pid` that holds it."""

    index: int
    pid: int
    holder: str | None


def list_flights(session: Session, workload: Workload) -> tuple[Flight, ...]:
    """The slots that the workload holds, by index: what is in flight, whatever was asked for."""
    with session.use() as connection:
        rows = list(statements().list_flights(connection, flight_class=FLIGHT_CLASSES[workload]))
    return tuple(Flight(**row) for row in rows)


class PostgresSlots:
    """Slots shared by every process on the database; one task at a time for each session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def try_acquire(
        self, limit: int, weight: int = 1
    ) -> AbstractContextManager[tuple[int, ...]] | None:
        """`weight` slots with an index below `limit`, held for the block; None where too few are
        free.

        Nightly begins at the highest, backfill at the lowest: they meet only where they have to.
        """
        with self._session.use() as connection:
            rows = statements().try_slots(
                connection,
                slot_class=SLOT_CLASS,
                flight_class=FLIGHT_CLASSES[self._session.workload],
                limit=limit,
                weight=weight,
                is_highest_first=self._session.workload is Workload.NIGHTLY,
            )
            taken = tuple(row["index"] for row in rows)
        if weight and len(taken) == weight:
            return self._held(taken, self._session.generation)
        self._release(taken, self._session.generation)
        return None

    @contextmanager
    def _held(self, taken: tuple[int, ...], generation: int) -> Iterator[tuple[int, ...]]:
        try:
            yield taken
        finally:
            self._release(taken, generation)

    def _release(self, taken: tuple[int, ...], generation: int) -> None:
        # A lock of a lost connection is gone already; the new one does not hold it.
        if not taken or not self._session.is_open(generation):
            return
        try:
            with self._session.use() as connection:
                released = statements().release_slots(
                    connection,
                    slot_class=SLOT_CLASS,
                    flight_class=FLIGHT_CLASSES[self._session.workload],
                    taken=list(taken),
                )
                for _ in released:  # the statement runs when its rows are read
                    pass
        except DatabaseInterrupted:
            # What was done in the slots is done: the locks go with the connection.
            self._session.close()
