"""Partitions of `daily_demand` in PostgreSQL: replaced, fingerprinted and recorded in one go."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, cast

import psycopg
import pyarrow as pa
from psycopg.types.json import Jsonb

from forecast_backfill.core.fingerprint import Fingerprint, canonical_text
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import PartitionStatus, sources_of
from forecast_backfill.core.version import Version
from forecast_backfill.ports import Completion, Rows, RunRequest
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.copy_rows import copy_rows
from forecast_backfill.warehouse.fences import hold_epoch, key_of, take_lease
from forecast_backfill.warehouse.ledger import refused_move
from forecast_backfill.warehouse.statements import statements


class PostgresWarehouse:
    """Where `daily_demand` is stored, over one session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @contextmanager
    def transaction(
        self, partition: Partition, request: RunRequest
    ) -> Iterator[PostgresPartitionTransaction]:
        """One READ COMMITTED transaction over the partition; an exception rolls it all back."""
        with self._session.transaction() as connection:
            yield PostgresPartitionTransaction(connection, partition, request)


class PostgresPartitionTransaction:
    """The steps of one replacement, on an open transaction."""

    def __init__(
        self, connection: psycopg.Connection[Any], partition: Partition, request: RunRequest
    ) -> None:
        self._connection = connection
        self._partition = partition
        self._request = request
        self._key = {"date": partition.date, "region": partition.region}

    def take_lease(self) -> None:
        """Wait for the partition's lease, to be held until the transaction ends."""
        take_lease(
            self._connection,
            key=lease_key(self._partition),
            name=application_name(self._partition, self._request.run_id),
            what="the partition",
            partition=self._partition,
        )

    def hold_epoch(self) -> None:
        """Lock the workload's epoch row against a kill until the transaction ends."""
        hold_epoch(self._connection, self._request, self._partition)

    def keep_superseded(self) -> int:
        """Keep the rows that are about to be replaced for a rollback; how many they are."""
        kept: int = statements().keep_superseded(
            self._connection,
            **self._key,
            campaign_id=self._request.campaign_id,
            run_id=self._request.run_id,
        )
        return kept

    def replace(self, rows: Rows, version: Version) -> int:
        """Delete the partition's rows and write `rows` (a pyarrow Table); how many were deleted."""
        deleted: int = statements().delete_partition(self._connection, **self._key)
        if rows.num_rows:
            copy_rows(self._connection, self._partition, cast("pa.Table", rows), version)
        return deleted

    def fingerprint(self) -> Fingerprint:
        """The fingerprint of what is stored now, computed by the database from the columns."""
        date, region = self._partition.date, self._partition.region
        row = statements().fingerprint_partition(
            self._connection, **self._key, prefix=canonical_text((date.isoformat(), region))
        )
        return Fingerprint(**{name: int(value) for name, value in row.items()})

    def complete(self, completion: Completion) -> None:
        """Move the ledger to done, append the event, close an open quarantine."""
        fingerprint, version = completion.fingerprint, completion.version
        exclusions = {rule: asdict(each) for rule, each in completion.exclusions.items()}
        row = statements().complete_partition(
            self._connection,
            **self._key,
            run_id=self._request.run_id,
            sources=list(sources_of(PartitionStatus.DONE)),
            **asdict(completion.identity),
            **asdict(fingerprint),
            data_version=fingerprint.data_version,
            authority=int(version.authority),
            source_version=version.source_version,
            lines=completion.totals.lines,
            exclusions=Jsonb(exclusions),
            seconds=completion.seconds,
            detail=Jsonb(
                {
                    "data_version": fingerprint.data_version,
                    "lines": completion.totals.lines,
                    "replaced_rows": completion.replaced_rows,
                }
            ),
        )
        if row is None:
            raise refused_move(self._partition, PartitionStatus.DONE, self._request)


def lease_key(partition: Partition) -> int:
    """The advisory lock of a partition: a signed 64-bit hash of its date and region."""
    return key_of(f"{partition.date}|{partition.region}")


def application_name(partition: Partition, run_id: str) -> str:
    """Run and partition in the 63 bytes that PostgreSQL shows of a client."""
    return f"{run_id[:36]} {partition.date:%Y%m%d} {partition.region}"
