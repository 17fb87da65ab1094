"""`daily_demand` in the lakehouse as models read it: the rows that the ledger vouches for."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date as Date
from pathlib import Path
from typing import Any

from forecast_backfill.core.errors import WarehouseRefused
from forecast_backfill.core.partition import DateRange, Partition
from forecast_backfill.core.stored_in import is_in_lakehouse
from forecast_backfill.night_values import WindowUnits
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.statements import statements
from forecast_backfill.warehouse.windows import elsewhere
from forecast_backfill.warehouse_delta.delta_log import DeltaLog
from forecast_backfill.warehouse_delta.demand_file import data_version_of, partition_of
from forecast_backfill.warehouse_delta.read_back import ReadBack

LOOKS = 4
WAIT_SECONDS = 0.5
"""Between looks: a commit to the ledger follows that to the table within milliseconds."""


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
        for look in range(LOOKS):
            if look:
                time.sleep(WAIT_SECONDS)
            versions = self._recorded(window, region, is_current)
            self._log.reload()
            files = _by_partition(
                self._log.files_in(window, None if region is None else [region]), versions
            )
            strange = _strange(versions, files)
            if strange is None:
                return self._units(versions, [each for found in files.values() for each in found])
        raise _not_vouched_for(strange)

    def _recorded(
        self, window: DateRange, region: str | None, is_current: bool
    ) -> dict[Partition, str]:
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
        versions: dict[Partition, str] = {}
        for row in rows:
            partition = Partition(date=row["date"], region=row["region"])
            if not is_in_lakehouse(row["code_version"]):
                raise elsewhere(partition, where="PostgreSQL")
            versions[partition] = row["data_version"]
        return versions

    def _units(
        self, versions: Mapping[Partition, str], files: Sequence[Path]
    ) -> tuple[WindowUnits, ...]:
        units: dict[Partition, dict[str, int]] = defaultdict(dict)
        for row in self._reader.read("units", files):
            partition = Partition(date=Date.fromisoformat(row["date"]), region=row["region"])
            units[partition][row["demand_group"]] = row["units"]
        return tuple(
            WindowUnits(partition=partition, data_version=version, units=units.get(partition, {}))
            for partition, version in versions.items()
        )


def _by_partition(
    files: Sequence[Path], wanted: Mapping[Partition, str]
) -> dict[Partition, list[Path]]:
    found: dict[Partition, list[Path]] = defaultdict(list)
    for file in files:
        partition = partition_of(file)
        if partition in wanted:
            found[partition].append(file)
    return found


def _strange(
    versions: Mapping[Partition, str], files: Mapping[Partition, list[Path]]
) -> Partition | None:
    """The first partition of which the table holds another version than the ledger has."""
    for partition, version in versions.items():
        if [data_version_of(each) for each in files.get(partition, [])] != [version]:
            return partition
    return None


def _not_vouched_for(partition: Partition) -> WarehouseRefused:
    return WarehouseRefused(
        "a window cannot be read",
        why="the Delta table holds other files of a partition than the ledger vouches for: a "
        "writer was lost between the two, or somebody else writes to the table",
        next_command=f"forecast-backfill backfill --reprocess --from {partition.date} --to … "
        f"--regions {partition.region}, which adopts or rewrites it",
        partition=partition,
    )
