"""What an export reads of a lakehouse: the ledger, and one version of the Delta table."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from forecast_backfill.core.export import Recorded
from forecast_backfill.core.partition import DateRange, Partition
from forecast_backfill.core.states import OutputState
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.digests import begin_snapshot
from forecast_backfill.warehouse.exported import EXPORT_SCHEMA, read_recorded
from forecast_backfill.warehouse_delta.delta_log import DeltaLog
from forecast_backfill.warehouse_delta.demand import LOOKS, WAIT_SECONDS
from forecast_backfill.warehouse_delta.demand_file import data_version_of, home_of

_ORDER = [("store_id", "ascending"), ("product_id", "ascending")]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRows:
    """The rows of a partition's files; a file that is gone, broken or not ours holds none."""

    files: Sequence[Path]
    num_rows: int

    def pieces(self) -> Iterator[pa.Table]:
        """The rows in their order, whole: how they lie in the file is the writer's affair."""
        tables = [_rows_of(each) for each in self.files]
        yield pa.concat_tables([EXPORT_SCHEMA.empty_table(), *tables]).sort_by(_ORDER)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaExportView:
    """Ledger and files as of one moment; files of a version stay as they are until VACUUM."""

    recorded: Mapping[Partition, Recorded]
    files: Mapping[Partition, Sequence[Path]]

    def rows(self, partition: Partition) -> FileRows:
        """The partition's rows, sorted by store and product."""
        fingerprint = self.recorded[partition].fingerprint
        rows = 0 if fingerprint is None else fingerprint.rows
        return FileRows(files=self.files.get(partition, ()), num_rows=rows)


class DeltaExport:
    """`daily_demand` in a Delta table, for reading only."""

    def __init__(self, session: Session, log: DeltaLog) -> None:
        self._session = session
        self._log = log

    @contextmanager
    def view(self, dates: DateRange) -> Iterator[DeltaExportView]:
        """The ledger and the table's version just after it, looked at again where they differ.

        A commit to the ledger follows that to the table within milliseconds.
        """
        for look in range(LOOKS):
            if look:
                time.sleep(WAIT_SECONDS)
            view = self._look(dates)
            if all(_agrees(each, view.files) for each in view.recorded.values()):
                break
        yield view

    def _look(self, dates: DateRange) -> DeltaExportView:
        with self._session.transaction() as connection:
            begin_snapshot(connection)
            recorded = read_recorded(connection, dates, is_lakehouse=True)
        self._log.reload()
        return DeltaExportView(recorded=recorded, files=self._files(dates, recorded))

    def _files(
        self, dates: DateRange, recorded: Iterable[Partition]
    ) -> Mapping[Partition, Sequence[Path]]:
        found: dict[Partition | None, list[Path]] = defaultdict(list)
        for file in self._log.files_in(dates, None):
            found[home_of(file)].append(file)
        if None in found:
            # A foreign file outside of the partitions' folders: whose it is, the log itself says.
            return {each: self._log.files_of(each) for each in recorded}
        return {each: files for each, files in found.items() if each is not None}


def _agrees(recorded: Recorded, files: Mapping[Partition, Sequence[Path]]) -> bool:
    if recorded.output is not OutputState.CURRENT or recorded.is_elsewhere:
        return True
    assert recorded.fingerprint is not None, "a current output has one"
    found = [data_version_of(each) for each in files.get(recorded.partition, ())]
    return found == [recorded.fingerprint.data_version]


def _rows_of(file: Path) -> pa.Table:
    try:
        with pq.ParquetFile(file) as opened:
            return opened.read(columns=EXPORT_SCHEMA.names).cast(EXPORT_SCHEMA)
    except (OSError, ValueError, pa.ArrowException):
        # ValueError: columns are missing.
        return EXPORT_SCHEMA.empty_table()
