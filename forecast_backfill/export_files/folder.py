"""The folder of an export: `date=…/region=…/daily_demand.parquet`, each replaced by a rename."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date as Date
from pathlib import Path

from forecast_backfill.core.errors import UsageRefused
from forecast_backfill.core.export import Wanted
from forecast_backfill.core.export_manifest import ExportManifest, written_manifest
from forecast_backfill.core.fingerprint import Fingerprint
from forecast_backfill.core.partition import Partition
from forecast_backfill.export_files.names import (
    ANOTHER_FOLDER,
    FILE,
    MANIFEST,
    NEW_MANIFEST,
    STAGED,
    refused,
    unwritable,
)
from forecast_backfill.export_files.parquet import (
    read_fingerprint,
    read_stamp,
    stamp_of,
    write_rows,
)
from forecast_backfill.ports import StreamedRows
from forecast_backfill.warehouse_delta.demand_file import folder_of, sync

_PLACE = re.compile(r"date=(\d{4}-\d\d-\d\d)/region=([A-Za-z0-9_]+)/" + re.escape(FILE))


class ParquetFolder:
    """A folder of ours, open for one export."""

    def __init__(self, path: Path, manifest: ExportManifest | None) -> None:
        self._path = path
        self._manifest = manifest

    @property
    def manifest(self) -> ExportManifest | None:
        """What was written last; None where nothing was."""
        return self._manifest

    def partitions(self) -> frozenset[Partition]:
        """The partitions that have a file. Raises UsageRefused for a file that is not of exports.

        Readers would count its rows along.
        """
        found: set[Partition] = set()
        strange: list[str] = []
        for file in _seen(self._path):
            place = file.relative_to(self._path).as_posix()
            partition = _partition(place)
            if partition is None:
                strange.append(place)
            else:
                found.add(partition)
        if strange:
            raise UsageRefused(
                f"the folder {self._path} holds files that are not of an export",
                why=f"readers of the folder would take them along: {', '.join(sorted(strange)[:3])}"
                + (f" and {len(strange) - 3} more" if len(strange) > 3 else ""),
                next_command=f"mv them elsewhere, and run it again; or {ANOTHER_FOLDER}",
            )
        return frozenset(found)

    def fingerprint(self, wanted: Wanted) -> Fingerprint | None:
        """What the partition's file holds, read anew; None where it does not claim to be that."""
        file = self._file(wanted.partition)
        if read_stamp(file) != stamp_of(wanted.partition, wanted.fingerprint):
            return None
        return read_fingerprint(file, wanted.partition)

    def stage(self, wanted: Wanted, rows: StreamedRows) -> Fingerprint:
        """Write the rows beside the partition's file; what was written, read back from the disk."""
        partition = wanted.partition
        file = self._staged(partition)
        stamp = stamp_of(partition, wanted.fingerprint)
        with refused(self._path, partition):
            self._make(file.parent)
            write_rows(file, stamp, rows.pieces())
            sync([file])
        found = read_fingerprint(file, partition)
        if found is None:
            raise unwritable(self._path, "what was just written cannot be read back", partition)
        return found

    def publish(self, partition: Partition) -> None:
        """Put what was staged into the place of the partition's file, in one step."""
        file = self._file(partition)
        with refused(self._path, partition):
            self._staged(partition).replace(file)
            sync([file.parent])

    def discard(self, partition: Partition) -> None:
        """Take away what was staged."""
        with refused(self._path, partition):
            self._staged(partition).unlink(missing_ok=True)

    def remove(self, partition: Partition) -> None:
        """Take the partition's file away."""
        file = self._file(partition)
        with refused(self._path, partition):
            file.unlink(missing_ok=True)
            sync([file.parent])

    def write_manifest(self, manifest: ExportManifest) -> None:
        """Put the manifest into the place of the last one, in one step."""
        staged = self._path / NEW_MANIFEST
        with refused(self._path):
            staged.write_text(written_manifest(manifest), encoding="utf-8")
            sync([staged])
            staged.replace(self._path / MANIFEST)
            sync([self._path])
        self._manifest = manifest

    def sweep(self) -> None:
        """Take away what exports that broke off have staged."""
        with refused(self._path):
            for staged in self._path.glob(f"date=*/region=*/{STAGED}"):
                staged.unlink(missing_ok=True)

    def _make(self, folder: Path) -> None:
        if folder.is_dir():
            return
        self._make(folder.parent)
        folder.mkdir()
        sync([folder.parent])

    def _file(self, partition: Partition) -> Path:
        return self._path / folder_of(partition) / FILE

    def _staged(self, partition: Partition) -> Path:
        return self._path / folder_of(partition) / STAGED


def _seen(place: Path) -> Iterator[Path]:
    """Every file that an engine would look at."""
    for each in place.iterdir():
        if each.name.startswith((".", "_")):
            continue
        if each.is_dir():
            yield from _seen(each)
        else:
            yield each


def _partition(place: str) -> Partition | None:
    found = _PLACE.fullmatch(place)
    if found is None:
        return None
    try:
        return Partition(date=Date.fromisoformat(found[1]), region=found[2])
    except ValueError:
        return None
