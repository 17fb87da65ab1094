"""The engine's slots as advisory locks: a crash closes the connection and so frees its slot."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.statements import statements

SLOT_CLASS = 0x736C_6F74
"""The first half of the lock's key: the bytes of "slot". The second half is the index."""


class PostgresSlots:
    """Slots shared by every process on the database; one at a time for each session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def try_acquire(self, limit: int) -> AbstractContextManager[int] | None:
        """A slot with an index below `limit`, held for the block; None where all are taken.

        The highest is tried first, so that nightly, whose limit is higher, leaves the low ones to
        backfill.
        """
        with self._session.use() as connection:
            for index in reversed(range(limit)):
                row = statements().try_slot(connection, slot_class=SLOT_CLASS, index=index)
                if row["is_taken"]:
                    return self._held(index, self._session.generation)
        return None

    @contextmanager
    def _held(self, index: int, generation: int) -> Iterator[int]:
        try:
            yield index
        finally:
            # A lock of a lost connection is gone already; the new one does not hold it.
            if self._session.is_open(generation):
                with self._session.use() as connection:
                    statements().release_slot(connection, slot_class=SLOT_CLASS, index=index)
