"""`daily_demand` in the lakehouse as models read it: the rows that the ledger vouches for."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date as Date
from pathlib import Path
from typing import Any

from forecast_backfill.core.errors import WarehouseRefused
from forecast_backfill.core.partition import DateRange, Partition
from forecast_backfill.core.stored_in import is_in_lakehouse
from forecast_backfill.ports.night_values import WindowUnits
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.statements import statements
from forecast_backfill.warehouse.windows import elsewhere
from forecast_backfill.warehouse_delta.delta_log import DeltaLog
from forecast_backfill.warehouse_delta.demand_file import data_version_of, home_of, is_whole
from forecast_backfill.warehouse_delta.read_back import ReadBack
from forecast_backfill.warehouse_delta.told import rewrite_command

LOOKS = 4
WAIT_SECONDS = 0.5
"""Between looks: a commit to the ledger follows that to the table within milliseconds."""


@dataclass(slots=True, kw_only=True)
class Stored:
    """What a partition's file holds, and the sums that prove it to be what the ledger has."""

    units: dict[str, int] = field(default_factory=dict[str, int])
    rows: int = 0
    row_hashes: int = 0

    @property
    def proof(self) -> tuple[int, int, int]:
        """Rows, units and checksum."""
        return self.rows, sum(self.units.values()), self.row_hashes


@dataclass(frozen=True, slots=True, kw_only=True)
class Vouched:
    """What the ledger vouches for: a version of the content, and its rows, units and checksum.

    Where it is not settled, a writer is at work, or was lost there.
    """

    data_version: str
    proof: tuple[int, int, int]
    is_settled: bool


class DeltaDemand:
    """Windows of the Delta table; which partitions count is what the ledger says."""

    def __init__(self, session: Session, log: DeltaLog, reader: ReadBack) -> None:
        self._session = session
        self._log = log
        self._reader = reader

    def read(self, window: DateRange) -> Sequence[WindowUnits]:
        """Every readable partition of the window (stale ones too), in one version, sorted.

        Raises WarehouseRefused where the table does not hold what the ledger vouches for.
        """
        return self._read(window, region=None, is_current=False)

    def read_current(self, window: DateRange, region: str) -> Sequence[WindowUnits]:
        """The partitions of one region whose output is not stale, in one version, sorted."""
        return self._read(window, region=region, is_current=True)

    def _read(
        self, window: DateRange, *, region: str | None, is_current: bool
    ) -> Sequence[WindowUnits]:
        refusal: WarehouseRefused | None = None
        for look in range(LOOKS):
            if look:
                time.sleep(WAIT_SECONDS)
            vouched = self._vouched(window, region, is_current)
            try:
                return self._look(window, region, vouched)
            except WarehouseRefused as error:
                # A writer was between its two commits, or VACUUM took what it had replaced.
                refusal = error
        assert refusal is not None, "every look ends or is refused"
        raise refusal

    def _look(
        self, window: DateRange, region: str | None, vouched: Mapping[Partition, Vouched]
    ) -> Sequence[WindowUnits]:
        self._log.reload()
        files = self._files(window, region, vouched)
        stored: dict[Partition, Stored] = defaultdict(Stored)
        for row in self._reader.read("proved_units", files):
            each = stored[Partition(date=Date.fromisoformat(row["date"]), region=row["region"])]
            each.units[row["demand_group"]] = row["units"]
            each.rows += row["rows"]
            each.row_hashes += int(row["row_hashes"])
        for partition, wanted in vouched.items():
            if stored[partition].proof != wanted.proof:
                raise _not_vouched_for(partition, _OTHER_ROWS)
        return tuple(
            WindowUnits(
                partition=partition,
                data_version=wanted.data_version,
                units=stored[partition].units,
            )
            for partition, wanted in vouched.items()
        )

    def _files(
        self, window: DateRange, region: str | None, vouched: Mapping[Partition, Vouched]
    ) -> list[Path]:
        """The one file of each partition, which the ledger vouches for by its name."""
        if vouched and not self._log.is_open:
            raise _no_table(self._log.directory, next(iter(vouched)))
        named = self._log.files_in(window, None if region is None else [region])
        found: dict[Partition | None, list[Path]] = defaultdict(list)
        for file in named:
            found[home_of(file)].append(file)
        # A foreign file outside of the partitions' folders: whose it is, the log itself says.
        is_foreign = bool(found.pop(None, ()))
        chosen: list[Path] = []
        for partition, wanted in vouched.items():
            files = self._log.files_of(partition) if is_foreign else found[partition]
            if [data_version_of(each) for each in files] != [wanted.data_version]:
                files = [self._replaced(partition, wanted)]
            chosen += files
        return chosen

    def _replaced(self, partition: Partition, wanted: Vouched) -> Path:
        """The file that a writer has replaced in the table, but not in the ledger.

        So no campaign that is killed just there keeps a night from its window.
        """
        if not wanted.is_settled:
            for file in self._log.kept(partition, wanted.data_version):
                if is_whole(file):
                    return file
        raise _not_vouched_for(partition, _OTHER_FILES)

    def _vouched(
        self, window: DateRange, region: str | None, is_current: bool
    ) -> dict[Partition, Vouched]:
        with self._session.use() as connection:
            rows: list[Mapping[str, Any]] = list(
                statements().readable_outputs(
                    connection,
                    start=window.start,
                    end=window.end,
                    region=region,
                    is_current=is_current,
                )
            )
        vouched: dict[Partition, Vouched] = {}
        for row in rows:
            partition = Partition(date=row["date"], region=row["region"])
            if not is_in_lakehouse(row["code_version"]):
                raise elsewhere(partition, where="PostgreSQL")
            vouched[partition] = Vouched(
                data_version=row["data_version"],
                proof=(row["rows"], int(row["units"]), int(row["checksum"])),
                is_settled=row["is_settled"],
            )
        return vouched


_OTHER_FILES = (
    "the Delta table holds other files of a partition than the ledger vouches for: a writer was "
    "lost between the two, or somebody else writes to the table"
)
_OTHER_ROWS = (
    "the rows in a partition's file are not those that the ledger vouches for: the file was "
    "changed in its place"
)


def _no_table(directory: Path, partition: Partition) -> WarehouseRefused:
    return WarehouseRefused(
        "a window cannot be read",
        why=f"{directory} holds no Delta table: it is not mounted, another folder, or was deleted",
        next_command="export FORECAST_BACKFILL_LAKEHOUSE=… (or mount it); where the table is lost: "
        "forecast-backfill reconcile --repair",
        partition=partition,
    )


def _not_vouched_for(partition: Partition, why: str) -> WarehouseRefused:
    return WarehouseRefused(
        "a window cannot be read",
        why=why,
        next_command=rewrite_command(partition),
        partition=partition,
    )
