"""Partitions that are committed together: their ledger rows and one commit of the Delta table.

deltalake reads the state of the whole table at each commit, which costs with its files, not with
what changes. While files are staged no lock is held; leases and epoch are taken again for the
commit, and nothing of it counts where a kill or another run came first.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

from forecast_backfill.core.partition import Partition
from forecast_backfill.ports import Completion, RunRequest
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.fences import key_of, take_lease
from forecast_backfill.warehouse.partitions import PostgresPartitionTransaction, application_name
from forecast_backfill.warehouse.statements import statements
from forecast_backfill.warehouse_delta.delta_log import Change, DeltaLog, Overtaken
from forecast_backfill.warehouse_delta.demand_file import Stamp

COMMIT_LEASE = "the Delta log of daily_demand"


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged:
    """A file that was read back and agrees, and what the ledger is to say of it."""

    change: Change
    request: RunRequest
    completion: Completion
    forgets_claims: bool


class Group:
    """What a run has staged and not yet published."""

    def __init__(self, session: Session, log: DeltaLog) -> None:
        self._session = session
        self._log = log
        self._staged: dict[Partition, Staged] = {}

    def add(self, staged: Staged) -> None:
        """Stage a file."""
        self._staged[staged.change.partition] = staged

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """What is staged."""
        return tuple(self._staged)

    def publish(self) -> tuple[Partition, ...]:
        """Record and commit all that is staged; the partitions that somebody else has replaced.

        Those are not committed, and staged no longer. Raises EpochRaised after a kill, and
        TransitionRefused where another run has taken a partition over; then nothing is committed.
        """
        overtaken: list[Partition] = []
        while self._staged:
            try:
                self._publish(sorted(self._staged.values(), key=_partition_of))
            except Overtaken as error:
                overtaken += error.partitions
                for partition in error.partitions:
                    del self._staged[partition]
            else:
                self._staged.clear()
        return tuple(overtaken)

    def clear(self) -> None:
        """Forget what is staged. Files stay: one of them may be current where a commit's end was
        lost; VACUUM removes the others."""
        self._staged.clear()

    def _publish(self, staged: Sequence[Staged]) -> None:
        with self._session.transaction() as connection:
            # Sorted by partition: two groups never wait for each other.
            for each in staged:
                transaction = PostgresPartitionTransaction(
                    connection, each.change.partition, each.request
                )
                transaction.take_lease()
                transaction.hold_epoch()
            record_and_publish(connection, self._log, staged)


def record(
    connection: psycopg.Connection[Any],
    partition: Partition,
    request: RunRequest,
    completion: Completion,
    *,
    forgets_claims: bool,
) -> None:
    """Move the ledger to done; rows in PostgreSQL, from before the partition moved, go."""
    key = {"date": partition.date, "region": partition.region}
    if forgets_claims:
        statements().merge_forget(connection, **key)
    PostgresPartitionTransaction(connection, partition, request).complete(completion)
    statements().delete_partition(connection, **key)


def record_and_publish(
    connection: psycopg.Connection[Any], log: DeltaLog, staged: Sequence[Staged]
) -> None:
    """Change the ledger's rows, then commit to the table; the ledger's commit is left to do.

    The rows are changed first: that shows that the session, and with it leases and epoch, is held.
    """
    for each in staged:
        record(
            connection,
            each.change.partition,
            each.request,
            each.completion,
            forgets_claims=each.forgets_claims,
        )
    first = staged[0]
    # Commits one after the other: side by side they would only fail and read the log again.
    take_lease(
        connection,
        key=key_of(COMMIT_LEASE),
        name=application_name(first.change.partition, first.request.run_id),
        what="the Delta table",
        partition=first.change.partition,
    )
    log.publish([each.change for each in staged], _told(staged))


def _told(staged: Sequence[Staged]) -> dict[str, str]:
    request = staged[0].request
    stamps = [
        Stamp(
            partition=each.change.partition,
            fingerprint=each.completion.fingerprint,
            version=each.completion.version,
        ).fields
        for each in staged
    ]
    return {
        "forecast_backfill.fingerprints": json.dumps(stamps),
        "forecast_backfill.workload": str(request.workload),
        "forecast_backfill.run_id": request.run_id,
        "forecast_backfill.epoch": str(request.epoch),
    }


def _partition_of(staged: Staged) -> Partition:
    return staged.change.partition
