"""The folder of an export: `date=…/region=…/daily_demand.parquet`, each replaced by a rename."""

from __future__ import annotations

import fcntl
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date as Date
from pathlib import Path

from forecast_backfill.core.errors import ExportRefused, UsageRefused
from forecast_backfill.core.export import ExportManifest, Wanted, read_manifest, written_manifest
from forecast_backfill.core.fingerprint import Fingerprint
from forecast_backfill.core.partition import Partition
from forecast_backfill.export_files.parquet import (
    read_fingerprint,
    read_stamp,
    stamp_of,
    write_rows,
)
from forecast_backfill.ports import StreamedRows
from forecast_backfill.warehouse_delta.demand_file import folder_of, sync

MANIFEST = "_export.json"
FILE = "daily_demand.parquet"
# Engines pass over names that begin with a dot or an underscore.
_LOCK, _STAGED, _NEW_MANIFEST = ".export.lock", f".{FILE}.part", "._export.json.part"
_PLACE = re.compile(r"date=(\d{4}-\d\d-\d\d)/region=([A-Za-z0-9_]+)/" + re.escape(FILE))
_ANOTHER = "forecast-backfill export FOLDER … with a folder that is new or empty"


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
                next_command=f"mv them elsewhere, and run it again; or {_ANOTHER}",
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
        with _refused(self._path, partition):
            file.parent.mkdir(parents=True, exist_ok=True)
            write_rows(file, stamp, rows.pieces())
            sync([file])
        found = read_fingerprint(file, partition)
        if found is None:
            raise _unwritable(self._path, "what was just written cannot be read back", partition)
        return found

    def publish(self, partition: Partition) -> None:
        """Put what was staged into the place of the partition's file, in one step."""
        file = self._file(partition)
        with _refused(self._path, partition):
            self._staged(partition).replace(file)
            sync([file.parent, file.parent.parent, self._path])

    def discard(self, partition: Partition) -> None:
        """Take away what was staged."""
        with _refused(self._path, partition):
            self._staged(partition).unlink(missing_ok=True)

    def remove(self, partition: Partition) -> None:
        """Take the partition's file away."""
        file = self._file(partition)
        with _refused(self._path, partition):
            file.unlink(missing_ok=True)
            sync([file.parent])

    def write_manifest(self, manifest: ExportManifest) -> None:
        """Put the manifest into the place of the last one, in one step."""
        staged = self._path / _NEW_MANIFEST
        with _refused(self._path):
            staged.write_text(written_manifest(manifest), encoding="utf-8")
            sync([staged])
            staged.replace(self._path / MANIFEST)
            sync([self._path])
        self._manifest = manifest

    def sweep(self) -> None:
        """Take away what exports that broke off have staged."""
        with _refused(self._path):
            for staged in self._path.glob(f"date=*/region=*/{_STAGED}"):
                staged.unlink(missing_ok=True)

    def _file(self, partition: Partition) -> Path:
        return self._path / folder_of(partition) / FILE

    def _staged(self, partition: Partition) -> Path:
        return self._path / folder_of(partition) / _STAGED


@contextmanager
def open_folder(path: Path, *, kept_apart: Mapping[str, Path]) -> Iterator[ParquetFolder]:
    """The folder, made where it is not there, and nobody else's while the block lasts.

    `kept_apart` names folders that an export may neither lie in nor hold. Raises UsageRefused for a
    folder that is not meant for an export, and ExportRefused where another export is at work in it.
    """
    place = path.expanduser().resolve()
    _refuse_overlap(place, kept_apart)
    _read_manifest(place)
    with _refused(place):
        place.mkdir(parents=True, exist_ok=True)
        lock = (place / _LOCK).open("a")
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise _unwritable(place, "another export writes to it just now") from error
        # Once more: another export may have ended meanwhile.
        folder = ParquetFolder(place, _read_manifest(place))
        folder.partitions()
        folder.sweep()
        yield folder


def _refuse_overlap(place: Path, kept_apart: Mapping[str, Path]) -> None:
    for name, each in kept_apart.items():
        other = each.expanduser().resolve()
        if place.is_relative_to(other) or other.is_relative_to(place):
            raise UsageRefused(
                f"the folder {place} cannot take an export",
                why=f"it lies in or around {name}, {other}",
                next_command=_ANOTHER,
            )


def _read_manifest(place: Path) -> ExportManifest | None:
    """The folder's manifest; None where the folder is new or empty."""
    if not place.exists():
        return None
    if not place.is_dir():
        raise _not_ours(place, "it is not a folder")
    try:
        return read_manifest((place / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        if {each.name for each in place.iterdir()} - {_LOCK, _NEW_MANIFEST}:
            why = f"it is not empty and has no {MANIFEST}, so no export has made it"
            raise _not_ours(place, why) from error
        return None
    except (ValueError, OSError) as error:
        why = f"its {MANIFEST} cannot be read as that of an export: {error}"
        raise _not_ours(place, why) from error


def _not_ours(place: Path, why: str) -> UsageRefused:
    return UsageRefused(f"the folder {place} cannot take an export", why=why, next_command=_ANOTHER)


def _unwritable(place: Path, why: str, partition: Partition | None = None) -> ExportRefused:
    return ExportRefused(
        f"the export cannot be written to {place}",
        why=why,
        next_command="make room or give the right to write, and run the same command again: it "
        "goes on where it stopped",
        partition=partition,
    )


@contextmanager
def _refused(place: Path, partition: Partition | None = None) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _unwritable(place, str(error), partition) from error


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
