"""What is stored in the lakehouse, as proofs read it: files by DuckDB, the ledger by PostgreSQL."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date as Date
from pathlib import Path
from typing import Any

from forecast_backfill.core.digest_tree import Bucket, Digest, RowDigest, split
from forecast_backfill.core.fingerprint import Fingerprint
from forecast_backfill.core.partition import DateRange, Partition
from forecast_backfill.core.seam_audit import SeamSides, Statement, StoredKeys
from forecast_backfill.core.version import Authority
from forecast_backfill.ports import LedgerRow
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.digests import PostgresStored, begin_snapshot
from forecast_backfill.warehouse.ledger import PostgresLedger
from forecast_backfill.warehouse.seam_records import read_recorded
from forecast_backfill.warehouse.statements import statements
from forecast_backfill.warehouse_delta.delta_log import DeltaLog
from forecast_backfill.warehouse_delta.demand_file import is_whole
from forecast_backfill.warehouse_delta.read_back import ReadBack


class DeltaView:
    """Rows by one version of the table, ledger by one snapshot taken just before it."""

    def __init__(self, log: DeltaLog, reader: ReadBack, ledger: PostgresLedger) -> None:
        self._log = log
        self._reader = reader
        self._ledger = ledger
        self._digests: tuple[Partition, list[RowDigest]] | None = None

    def ledger(self, partition: Partition) -> LedgerRow | None:
        """The partition as the ledger has it; None where it was never attempted."""
        return self._ledger.find(partition)

    def fingerprint(self, partition: Partition) -> Fingerprint:
        """The fingerprint of what is stored, recomputed from the files."""
        return self._reader.fingerprint(self._files_of(partition))

    def canonical_rows(self, partition: Partition) -> Sequence[str]:
        """Every row's key and values as text, sorted."""
        rows = self._reader.read("canonical_rows", self._files_of(partition))
        return sorted(row["canonical"] for row in rows)

    def partitions(
        self, dates: DateRange, regions: Sequence[str] | None
    ) -> Mapping[Partition, Digest]:
        """The digest of every partition that holds a row; None means every region."""
        rows = self._reader.read("partition_digests", self._log.files_in(dates, regions))
        return {
            _partition(row): Digest(rows=row["rows"], checksum=int(row["checksum"])) for row in rows
        }

    def split(self, partition: Partition, parent: Bucket) -> Mapping[Bucket, Digest]:
        """The digests of the parent's children that hold a row."""
        inside = [row for row in self._rows_of(partition) if row.key_hash in parent]
        return split(inside, parent)

    def rows(self, partition: Partition, bucket: Bucket) -> Sequence[RowDigest]:
        """The rows of one bucket."""
        return [row for row in self._rows_of(partition) if row.key_hash in bucket]

    def _files_of(self, partition: Partition) -> list[Path]:
        # A file that is gone or broken holds no rows: a proof says so, and a repair rewrites it.
        return [each for each in self._log.files_of(partition) if is_whole(each)]

    def _rows_of(self, partition: Partition) -> list[RowDigest]:
        if self._digests is None or self._digests[0] != partition:
            rows = self._reader.read("row_digests", self._files_of(partition))
            digests = [
                RowDigest(key=(row["store_id"], row["product_id"]), hash=row["hash"])
                for row in rows
            ]
            self._digests = partition, digests
        return self._digests[1]


class DeltaStored:
    """Read-only views of the Delta table and its ledger."""

    def __init__(self, session: Session, log: DeltaLog, reader: ReadBack) -> None:
        self._session = session
        self._log = log
        self._reader = reader

    @contextmanager
    def view(self) -> Iterator[DeltaView]:
        """One snapshot of the ledger and one version of the table; nothing is written."""
        with self._session.transaction() as connection:
            begin_snapshot(connection)
            self._log.reload()
            yield DeltaView(self._log, self._reader, PostgresLedger(self._session))

    def sample_done(
        self, dates: DateRange, regions: Sequence[str], *, seed: str, count: int
    ) -> Sequence[Partition]:
        """Up to `count` done partitions in an order that the seed decides."""
        stored = PostgresStored(self._session)
        return stored.sample_done(dates, regions, seed=seed, count=count)


class DeltaSeamRecords:
    """Ledger and claims in PostgreSQL, versions and keys in the files."""

    def __init__(self, session: Session, log: DeltaLog, reader: ReadBack) -> None:
        self._session = session
        self._log = log
        self._reader = reader

    def read(self, dates: DateRange, regions: Sequence[str]) -> SeamSides:
        """Both sides: one snapshot of the ledger, and the table's version just after it."""
        asked = {"start": dates.start, "end": dates.end, "regions": list(regions)}
        with self._session.transaction() as connection:
            statements().seam_snapshot(connection)
            recorded = read_recorded(connection, asked)
        self._log.reload()
        files = self._log.files_in(dates, regions)
        rows: dict[Partition, dict[Statement, int]] = defaultdict(dict)
        for row in self._reader.read("statements", files):
            rows[_partition(row)][Authority(row["authority"]), row["source_version"]] = row["rows"]
        keys = {_partition(row): row["keys"] for row in self._reader.read("keys", files)}
        stored = {
            partition: StoredKeys(keys=keys[partition], rows=each)
            for partition, each in rows.items()
        }
        return SeamSides(recorded=recorded, stored=stored)


def _partition(row: Mapping[str, Any]) -> Partition:
    return Partition(date=Date.fromisoformat(row["date"]), region=row["region"])
