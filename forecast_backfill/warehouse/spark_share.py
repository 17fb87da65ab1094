"""The cores that a workload has of Spark: one batch at a time takes all of them.

Else each of the runs that the queue lets in would take as many cores as all of them may, and the
night's own job would find none.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from forecast_backfill.core.states import Workload
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.statements import statements

SHARE_CLASS = 0x7370_726B
"""The first half of the lock: the bytes of "sprk". The second half is the workload's number."""

_NUMBERS = {Workload.NIGHTLY: 1, Workload.BACKFILL: 2}


class PostgresSparkShare:
    """An advisory lock of a session of its own: a crash frees it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._number = _NUMBERS[session.workload]

    def try_take(self) -> AbstractContextManager[None] | None:
        """The share, held for the block; None where another batch has it."""
        with self._session.use() as connection:
            row = statements().try_share(connection, share_class=SHARE_CLASS, number=self._number)
        return self._held(self._session.generation) if row["is_taken"] else None

    @contextmanager
    def _held(self, generation: int) -> Iterator[None]:
        try:
            yield
        finally:
            # The lock of a lost connection is gone already.
            if self._session.is_open(generation):
                with self._session.use() as connection:
                    statements().release_share(
                        connection, share_class=SHARE_CLASS, number=self._number
                    )
