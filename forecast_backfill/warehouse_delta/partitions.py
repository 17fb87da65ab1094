"""Partitions of `daily_demand` in the lakehouse: written, read back, published, recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, cast

import psycopg
import pyarrow as pa

from forecast_backfill.core.errors import WarehouseRefused
from forecast_backfill.core.fingerprint import Fingerprint
from forecast_backfill.core.identity import OutputIdentity
from forecast_backfill.core.merge import Claim, Key, MergeRow, Standing
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.shadow_check import ShadowWrite
from forecast_backfill.core.strategy import Target
from forecast_backfill.core.version import Authority, Version
from forecast_backfill.ports import Completion, MergeCompletion, Rows, RunRequest
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.partitions import PostgresPartitionTransaction
from forecast_backfill.warehouse_delta.delta_log import Change, DeltaLog
from forecast_backfill.warehouse_delta.demand_file import (
    Stamp,
    data_version_of,
    home_of,
    read_stamp,
    rows_of,
    write_file,
)
from forecast_backfill.warehouse_delta.group import Group, Staged, record, record_and_publish
from forecast_backfill.warehouse_delta.read_back import ReadBack, fingerprint_of
from forecast_backfill.warehouse_delta.same_table import refuse_other_table


class DeltaWarehouse:
    """`daily_demand` in a Delta table; the session holds leases, epoch and ledger."""

    def __init__(
        self, session: Session, log: DeltaLog, reader: ReadBack, new_name: Callable[[], str]
    ) -> None:
        self._session = session
        self._log = log
        self._reader = reader
        self._new_name = new_name
        self.group: Group | None = None

    def open_group(self) -> Group:
        """From now on files are staged, until the group is closed."""
        self.group = Group(self._session, self._log)
        return self.group

    def close_group(self) -> None:
        """Each partition is committed on its own again."""
        self.group = None

    def target(self) -> Target:
        """A lakehouse: a partition is replaced by one file in one commit."""
        return Target(is_lakehouse=True)

    @contextmanager
    def transaction(
        self, partition: Partition, request: RunRequest
    ) -> Iterator[DeltaPartitionTransaction]:
        """One PostgreSQL transaction over the partition; an exception leaves no file behind.

        Raises WarehouseRefused for a campaign that writes beside nightly.
        """
        if request.winner is not None:
            refuse_merge(partition)
        with self._session.transaction() as connection:
            transaction = DeltaPartitionTransaction(
                connection,
                partition,
                request,
                self._log,
                self._reader,
                self._new_name,
                self.group,
            )
            try:
                yield transaction
            except BaseException:
                transaction.discard()
                raise


class DeltaPartitionTransaction(PostgresPartitionTransaction):
    """The steps of one replacement: lease, epoch and ledger in PostgreSQL, the rows in a file."""

    def __init__(
        self,
        connection: psycopg.Connection[Any],
        partition: Partition,
        request: RunRequest,
        log: DeltaLog,
        reader: ReadBack,
        new_name: Callable[[], str],
        group: Group | None,
    ) -> None:
        super().__init__(connection, partition, request)
        self._group = group
        self._log = log
        self._reader = reader
        self._new_name = new_name
        self._becomes: Fingerprint | None = None
        self._seen: tuple[Path, ...] = ()
        self._current: Path | None = None
        self._unpublished: Path | None = None
        self._forgets_claims = False

    def keep_superseded(
        self, becomes: Fingerprint | None = None, version: Version | None = None
    ) -> int:
        """Nothing is copied: what is replaced stays in the table's earlier versions."""
        self._becomes = becomes
        return 0

    def replace(self, rows: Rows, version: Version) -> int:
        """Write `rows` as a file, or adopt the current one that is proved to hold them.

        That is there where a writer was lost between its commit to the table and the ledger's.
        """
        assert self._becomes is not None, "what is superseded is looked at first"
        stamp = Stamp(partition=self._partition, fingerprint=self._becomes, version=version)
        self._reload()
        self._seen = self._log.files_of(self._partition)
        self._current = self._find_same(stamp)
        if self._current is not None:
            return 0
        replaced = sum(rows_of(each) for each in self._seen)
        # A process killed half way leaves a file that nobody has heard of: VACUUM's.
        self._current = write_file(
            self._log.directory,
            cast("pa.Table", rows),
            stamp,
            self._new_name(),
            self._look,
        )
        self._unpublished = self._current
        return replaced

    def _reload(self) -> None:
        while True:
            if not self._log.is_known:
                refuse_other_table(self._connection, self._log, self._partition, self._request)
                self._log.is_known = True
            self._log.reload()
            if self._log.is_known:
                return
            # The table has been taken away under this process.

    def _look(self) -> None:
        # A kill ends a commit in flight with its session, which nothing else would tell a stream.
        self._connection.execute("SELECT 1")

    def _find_same(self, stamp: Stamp) -> Path | None:
        if len(self._seen) != 1 or read_stamp(self._seen[0]) != stamp.text:
            return None
        # Somebody's copy of one of ours states the same under another name.
        if data_version_of(self._seen[0]) != stamp.fingerprint.data_version:
            return None
        if home_of(self._seen[0]) != self._partition:
            return None
        # The footer only states it; the columns prove it.
        try:
            found, version = self._reader.summary(self._seen), stamp.version
        except WarehouseRefused:
            return None
        is_same = fingerprint_of(found) == stamp.fingerprint
        is_same = is_same and found["row_hashes"] == stamp.fingerprint.checksum
        if found["rows"]:
            authorities = {found["lowest_authority"], found["authority"]}
            versions = {found["lowest_version"], found["source_version"]}
            is_same = is_same and authorities == {int(version.authority)}
            is_same = is_same and versions == {version.source_version}
        return self._seen[0] if is_same else None

    def fingerprint(self) -> Fingerprint:
        """The fingerprint of the file that is or becomes current, recomputed from its columns."""
        assert self._current is not None, "the rows are written first"
        return self._reader.fingerprint([self._current])

    def complete(self, completion: Completion) -> None:
        """Move the ledger to done and commit to the Delta table; the ledger's commit is last.

        In a group only the file is staged: `Group.publish` does that for all of them.
        """
        request, partition = self._request, self._partition
        if self._unpublished is None:
            record(
                self._connection,
                partition,
                request,
                completion,
                forgets_claims=self._forgets_claims,
            )
            return
        file, self._unpublished = self._unpublished, None
        change = Change(
            partition=partition,
            file=file,
            rows=completion.fingerprint.rows,
            seen=self._seen,
            size=file.stat().st_size,
        )
        staged = Staged(
            change=change,
            request=request,
            completion=completion,
            forgets_claims=self._forgets_claims,
        )
        if self._group is not None:
            self._group.add(staged)
            return
        record_and_publish(self._connection, self._log, [staged])

    def forget_claims(self) -> None:
        """Older statements about the partition count no more, once it is recorded."""
        self._forgets_claims = True

    def discard(self) -> None:
        """Remove a file that was never offered to the table."""
        if self._unpublished is not None:
            self._unpublished.unlink(missing_ok=True)

    def write_shadows(self, data_version: str | None) -> tuple[ShadowWrite, ...]:
        """Nothing without a shadow; one that is open cannot follow rows in files.

        Raises WarehouseRefused.
        """
        if not self._shadows:
            return ()
        raise WarehouseRefused(
            "a shadow cannot follow the lakehouse",
            why="it is filled from rows in PostgreSQL, and FORECAST_BACKFILL_WAREHOUSE=delta",
            next_command="export FORECAST_BACKFILL_WAREHOUSE=postgres, then forecast-backfill "
            "shadow drop",
            partition=self._partition,
        )

    def swap_leaf(self, rows: Rows, version: Version) -> int:
        """Not chosen in a lakehouse."""
        refuse_merge(self._partition)

    def keep_record(self) -> None:
        """Not reached: only a merge keeps a record alone."""
        refuse_merge(self._partition)

    def stored_rows(self) -> Mapping[Key, MergeRow]:
        """Refused, as all of a merge is."""
        refuse_merge(self._partition)

    def claim_of(self, rows: Rows, version: Version) -> Claim:
        """Refused, as all of a merge is."""
        refuse_merge(self._partition)

    def merge(self, rows: Rows, version: Version, standing: Standing) -> int:
        """Refused, as all of a merge is."""
        refuse_merge(self._partition)

    def statements(self) -> Mapping[tuple[Authority, int], tuple[int, int]]:
        """Refused, as all of a merge is."""
        refuse_merge(self._partition)

    def complete_merge(self, completion: MergeCompletion) -> OutputIdentity:
        """Refused, as all of a merge is."""
        refuse_merge(self._partition)


def refuse_merge(partition: Partition) -> NoReturn:
    """Raise WarehouseRefused: rows of a lakehouse are replaced by partition only."""
    raise WarehouseRefused(
        "an overlap cannot be merged in a lakehouse",
        why="rows are merged by version in PostgreSQL only; a Delta partition is replaced whole",
        next_command=f"forecast-backfill backfill --from {partition.date} --to … without --overlap "
        "before the seam, or export FORECAST_BACKFILL_WAREHOUSE=postgres",
        partition=partition,
    )
