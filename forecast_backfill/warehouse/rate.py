"""The token bucket of each workload in PostgreSQL: one row, one statement a look or turn."""

from __future__ import annotations

from forecast_backfill.core.bucket import BURST_SECONDS, BucketLevel
from forecast_backfill.core.states import Workload
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.statements import statements


class PostgresRate:
    """The buckets over one session; the database's clock fills them."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def take(self, workload: Workload, rows: int) -> BucketLevel:
        """Take a turn of `rows`; its number is `taken` of the level."""
        return self._move(workload, taken=rows)

    def look(self, workload: Workload) -> BucketLevel:
        """The level now, at the rate that is asked for now."""
        return self._move(workload)

    def give_back(self, workload: Workload, rows: int) -> None:
        """A turn of `rows` that will not be used: those after it come so much earlier."""
        self._move(workload, returned=rows)

    def _move(self, workload: Workload, *, taken: int = 0, returned: int = 0) -> BucketLevel:
        with self._session.use() as connection:
            row = statements().move_bucket(
                connection,
                workload=workload,
                taken=taken,
                returned=returned,
                burst_seconds=BURST_SECONDS,
            )
        return BucketLevel(
            taken=row["taken"],
            filled=row["filled"],
            rate=row["rate"],
            epoch=row["epoch"],
            is_paused=row["is_paused"],
            reason=row["reason"],
        )
