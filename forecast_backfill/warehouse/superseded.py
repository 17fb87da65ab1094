"""What campaigns have replaced, put back partition by partition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date as Date
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from forecast_backfill.core.errors import TransitionRefused
from forecast_backfill.core.fingerprint import Fingerprint
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.rollback import Kept, PutBack, Stands
from forecast_backfill.core.shadow_check import ShadowWrite
from forecast_backfill.core.states import ROLLBACKS, OutputState, PartitionStatus, Workload
from forecast_backfill.core.stored_in import is_in_lakehouse
from forecast_backfill.ports import RunRequest
from forecast_backfill.ports.rollback import KeptPartition
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.partitions import PostgresPartitionTransaction
from forecast_backfill.warehouse.statements import statements


class PostgresRollbacks:
    """What campaigns have replaced, and the transactions that put it back, over one session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def list(
        self,
        campaign_id: str,
        *,
        start: Date | None = None,
        end: Date | None = None,
        regions: Sequence[str] | None = None,
    ) -> tuple[KeptPartition, ...]:
        """The partitions that the campaign changed, by date and region; `end` is exclusive."""
        with self._session.use() as connection:
            statements().summarize_superseded(connection)
            rows = statements().list_superseded(
                connection,
                campaign_id=campaign_id,
                start=start,
                end=end,
                regions=None if regions is None else list(regions),
            )
            return tuple(
                KeptPartition(
                    partition=Partition(date=row["date"], region=row["region"]),
                    workload=Workload(row["workload"]),
                    rows=row["kept_rows"],
                )
                for row in rows
            )

    @contextmanager
    def transaction(
        self, partition: Partition, campaign_id: str, request: RunRequest
    ) -> Iterator[PostgresRollbackTransaction]:
        """One READ COMMITTED transaction over the partition; an exception rolls it all back."""
        with self._session.transaction() as connection:
            yield PostgresRollbackTransaction(connection, partition, campaign_id, request)


class PostgresRollbackTransaction:
    """The steps of one rollback, on an open transaction."""

    def __init__(
        self,
        connection: psycopg.Connection[Any],
        partition: Partition,
        campaign_id: str,
        request: RunRequest,
    ) -> None:
        self._connection = connection
        self._partition = partition
        self._request = request
        self._key = {"date": partition.date, "region": partition.region}
        self._marked = {"campaign_id": campaign_id, **self._key}
        self._fenced = PostgresPartitionTransaction(connection, partition, request)
        self._has_claims = False

    def take_lease(self) -> None:
        """Wait for the partition's lease, to be held until the transaction ends."""
        self._fenced.take_lease()

    def hold_epoch(self) -> None:
        """Lock the workload's epoch row against a kill until the transaction ends."""
        self._fenced.hold_epoch()

    def find(self) -> tuple[Kept | None, Stands | None]:
        """What is kept, locked against being freed, and what the ledger says now."""
        row = statements().find_superseded(self._connection, **self._marked)
        if row is None:
            return None, None
        self._has_claims = bool(row["claims"]) or row["is_merged"]
        return _kept(row), _stands(row)

    def restore(self, kept: Kept) -> int:
        """Put the earlier rows in the place of the stored ones; how many were removed."""
        if self._has_claims:
            statements().restore_claims(self._connection, **self._marked)
        if not kept.has_rows:
            return 0
        removed: int = statements().delete_partition(self._connection, **self._key)
        if kept.fingerprint is not None:
            statements().restore_rows(self._connection, **self._marked)
        return removed

    def fingerprint(self) -> Fingerprint:
        """The fingerprint of what is stored now, computed by the database from the columns."""
        return self._fenced.fingerprint()

    def write_shadows(self, data_version: str | None) -> tuple[ShadowWrite, ...]:
        """Write what is stored now into every shadow; None where nothing is left."""
        return self._fenced.write_shadows(data_version)

    def complete(self, verdict: PutBack, *, reason: str, removed_rows: int, seconds: float) -> None:
        """Put the earlier record back into the ledger, and append the event."""
        row = statements().roll_back_partition(
            self._connection,
            **self._marked,
            workload=self._request.workload,
            run_id=self._request.run_id,
            epoch=self._request.epoch,
            status=verdict.status,
            output=verdict.output,
            sources=[status.value for status in ROLLBACKS],
            reason=reason,
            seconds=seconds,
            detail=Jsonb({"removed_rows": removed_rows, "output": verdict.output}),
        )
        if row is None:
            raise TransitionRefused(
                "the ledger refused to roll the partition back",
                why="another run took it over meanwhile",
                next_command="forecast-backfill status",
                partition=self._partition,
            )


def _kept(row: Mapping[str, Any]) -> Kept:
    output, record = OutputState(row["output"]), row["record"]
    fingerprint = None
    if output is not OutputState.ABSENT:
        fingerprint = Fingerprint(
            rows=record["output_rows"],
            checksum=int(record["output_checksum"]),
            units=int(record["output_units"]),
            revenue_cents=int(record["output_revenue_cents"]),
            stores=record["output_stores"],
            products=record["output_products"],
        )
    return Kept(
        output=output,
        fingerprint=fingerprint,
        has_rows=row["is_kept"],
        is_back=row["is_back"],
        is_accepted=row["is_accepted"],
        is_elsewhere=is_in_lakehouse(record.get("output_code_version")),
    )


def _stands(row: Mapping[str, Any]) -> Stands | None:
    if row["status"] is None:
        return None
    return Stands(
        status=PartitionStatus(row["status"]),
        writer=row["output_writer"],
        rows=row["output_rows"] or 0,
        run_id=row["run_id"],
        is_epoch_over=row["is_epoch_over"],
    )
