"""What a plan looks at in PostgreSQL: ledger, sizes, locks, windows."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from datetime import date as Date
from pathlib import Path

import psycopg

from forecast_backfill.core.partition import DateRange, Partition
from forecast_backfill.core.preflight import ForeignLock
from forecast_backfill.core.seal import RegionOutput
from forecast_backfill.core.states import OutputState, PartitionStatus
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.statements import statements

LOCAL_HOSTS = ("", "localhost", "127.0.0.1", "::1")


class PostgresPlanFacts:
    """The facts over one session; nothing is changed."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def outputs(self, dates: DateRange, regions: Sequence[str]) -> Mapping[Partition, RegionOutput]:
        """What the ledger has of the partitions; one that was never tried is absent."""
        with self._session.use() as connection:
            rows = list(
                statements().plan_partitions(
                    connection, start=dates.start, end=dates.end, regions=list(regions)
                )
            )
        return {
            Partition(date=row["date"], region=row["region"]): RegionOutput(
                status=PartitionStatus(row["status"]),
                output=OutputState(row["output"]),
                version=row["output_data_version"],
                reason=row["reason"],
            )
            for row in rows
        }

    def partition_bytes(self) -> int:
        """Bytes that a partition takes on average; 0 where none is stored."""
        with self._session.use() as connection:
            size: int = statements().plan_size(connection)["partition_bytes"]
        return size

    def free_bytes(self) -> int | None:
        """Free bytes of the server's disk; None where that cannot be seen from here."""
        with self._session.use() as connection:
            host = connection.info.host
            if not host.startswith("/") and host not in LOCAL_HOSTS:
                return None
            try:
                directory = Path(statements().data_directory(connection)["path"])
            except psycopg.errors.InsufficientPrivilege:
                return None
        try:
            return shutil.disk_usage(directory).free
        except OSError:  # a container's server tells of a directory that is not here
            return None

    def foreign_locks(self) -> tuple[ForeignLock, ...]:
        """Locks of others on `daily_demand` that keep writers out."""
        with self._session.use() as connection:
            return tuple(ForeignLock(**row) for row in statements().foreign_locks(connection))

    def windows_over(self, dates: DateRange) -> tuple[Date, ...]:
        """The last dates of the judged windows that reach into the range."""
        with self._session.use() as connection:
            rows = statements().windows_over(connection, start=dates.start, end=dates.end)
            return tuple(row["date"] for row in rows)
