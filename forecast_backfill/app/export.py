"""Exports partitions as plain files: each one whole and proved, the manifest last."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Protocol

from forecast_backfill.core.export import LeftOut, Recorded, Wanted, decide
from forecast_backfill.core.export_manifest import ExportManifest, ended, under_way, unlisted
from forecast_backfill.core.fingerprint import Fingerprint
from forecast_backfill.core.partition import DateRange, Partition
from forecast_backfill.ports import Clock, StreamedRows


class ExportView(Protocol):
    """Ledger and rows as of one moment."""

    @property
    def recorded(self) -> Mapping[Partition, Recorded]:
        """What the ledger has of the view's dates."""
        ...

    def rows(self, partition: Partition) -> StreamedRows:
        """The partition's rows, sorted by store and product."""
        ...


class ExportSource(Protocol):
    """The warehouse, for reading only."""

    def view(self, dates: DateRange) -> AbstractContextManager[ExportView]: ...


class ExportFolder(Protocol):
    """A folder of ours that nobody else writes to meanwhile."""

    @property
    def manifest(self) -> ExportManifest | None:
        """What was written last; None where nothing was."""
        ...

    def partitions(self) -> Collection[Partition]:
        """The partitions that have a file."""
        ...

    def fingerprint(self, wanted: Wanted) -> Fingerprint | None:
        """What the partition's file holds, read anew; None where it does not claim to be that."""
        ...

    def stage(self, wanted: Wanted, rows: StreamedRows) -> Fingerprint:
        """Write the rows where no reader looks; what was written, read back from the disk."""
        ...

    def publish(self, partition: Partition) -> None:
        """Put what was staged into the place of the partition's file, in one step."""
        ...

    def discard(self, partition: Partition) -> None:
        """Take away what was staged."""
        ...

    def remove(self, partition: Partition) -> None:
        """Take the partition's file away."""
        ...

    def write_manifest(self, manifest: ExportManifest) -> None:
        """Put the manifest into the place of the last one, in one step."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportPorts:
    """What an export is handed."""

    source: ExportSource
    folder: ExportFolder
    clock: Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What an export came to; `written` and `unchanged` are all that was asked and is there."""

    manifest: ExportManifest
    written: tuple[Wanted, ...]
    unchanged: tuple[Wanted, ...]
    left_out: tuple[LeftOut, ...]


def export(asked: Iterable[Partition], ports: ExportPorts) -> Exported:
    """Bring the folder's files of the asked partitions to what the ledger vouches for.

    Broken off anywhere, each file is whole, old or new, and the manifest says `under_way`; done
    again, it goes on. What an earlier export left unlisted is done along. Raises
    DatabaseInterrupted, and ExportRefused where the folder cannot be written.
    """
    as_of = ports.clock.now()
    earlier, files = ports.folder.manifest, ports.folder.partitions()
    partitions = sorted({*asked, *unlisted(earlier, files)})
    folder = _Begun(ports.folder, under_way(earlier, partitions, as_of), frozenset(files))
    written: list[Wanted] = []
    unchanged: list[Wanted] = []
    left_out: list[LeftOut] = []
    with ports.source.view(_span(partitions)) as view:
        for partition in partitions:
            found = decide(partition, view.recorded.get(partition))
            if isinstance(found, LeftOut):
                left_out.append(folder.leave_out(found))
            elif ports.folder.fingerprint(found) == found.fingerprint:
                unchanged.append(found)
            else:
                missing = _write(found, view, folder)
                if missing is None:
                    written.append(found)
                else:
                    left_out.append(folder.leave_out(missing))
    manifest = ended(earlier, (*written, *unchanged, *left_out), as_of)
    ports.folder.write_manifest(manifest)
    return Exported(
        manifest=manifest,
        written=tuple(written),
        unchanged=tuple(unchanged),
        left_out=tuple(left_out),
    )


class _Begun:
    """The folder, whose manifest says that it is being changed before anything is."""

    def __init__(
        self, folder: ExportFolder, manifest: ExportManifest, files: frozenset[Partition]
    ) -> None:
        self._folder = folder
        self._manifest: ExportManifest | None = manifest
        self._files = files

    def changed(self) -> ExportFolder:
        """The folder, to be changed."""
        if self._manifest is not None:
            self._folder.write_manifest(self._manifest)
            self._manifest = None
        return self._folder

    def leave_out(self, found: LeftOut) -> LeftOut:
        """A file that an earlier export has left must not look current."""
        if found.partition not in self._files:
            return found
        self.changed().remove(found.partition)
        return replace(found, is_removed=True)


def _write(wanted: Wanted, view: ExportView, begun: _Begun) -> LeftOut | None:
    """Write the partition's file and prove it; the reason where that does not come out."""
    partition = wanted.partition
    recorded = view.recorded[partition]
    if recorded.is_elsewhere:
        return LeftOut(partition=partition, reason=_elsewhere(partition))
    folder = begun.changed()
    try:
        found = folder.stage(wanted, view.rows(partition))
        if found == wanted.fingerprint:
            folder.publish(partition)
            return None
    finally:
        # After a publication there is nothing to discard.
        folder.discard(partition)
    return LeftOut(
        partition=partition,
        reason=f"the warehouse holds {found.rows} rows of {found.data_version}, the ledger vouches "
        f"for {wanted.fingerprint.rows} of {wanted.fingerprint.data_version}: "
        f"forecast-backfill reconcile {partition.options} names them",
    )


def _elsewhere(partition: Partition) -> str:
    return (
        "its rows lie in the other warehouse than FORECAST_BACKFILL_WAREHOUSE names: "
        f"forecast-backfill backfill {partition.options} moves them"
    )


def _span(partitions: Sequence[Partition]) -> DateRange:
    return DateRange(start=partitions[0].date, end=partitions[-1].date + timedelta(days=1))
