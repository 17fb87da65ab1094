"""Reads landed deliveries from a folder, each file once, and never changes one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from forecast_backfill.core.errors import LandingIncomplete
from forecast_backfill.core.partition import Partition
from forecast_backfill.landing.dimensions import DimensionFiles, PartitionDimensions
from forecast_backfill.landing.layout import PART_PREFIX, SALES_PREFIX, Layout
from forecast_backfill.ports import HashedFile, LandedFile, LandedSource

Files = tuple[LandedFile, ...] | tuple[HashedFile, ...]

READS = 3
"""How often a delivery is read that is being landed again meanwhile."""


class FileLanding:
    """The landing folder as the application sees it; large files may be hashed, not kept."""

    def __init__(self, directory: Path, *, keeps_bytes: bool = True) -> None:
        self._layout = Layout(directory=directory)
        self._dimensions = DimensionFiles(self._layout)
        self._read_file = _read_whole if keeps_bytes else _hash_file

    def read(self, partition: Partition) -> LandedSource:
        """Every sales file of the partition and its manifest; a missing folder holds none.

        Raises LandingIncomplete where a file is there but cannot be read.
        """
        try:
            manifest, files = self._read_settled(partition)
        except OSError as error:
            raise _unreadable(error, partition) from error
        return LandedSource(
            partition=partition, files=files, manifest=manifest, digest=_digest(files, manifest)
        )

    def read_manifest(self, partition: Partition) -> bytes | None:
        """The content of the partition's manifest alone; None where there is none.

        Raises LandingIncomplete where it is there but cannot be read.
        """
        try:
            return _read_optional(self._layout.manifest(partition))
        except OSError as error:
            raise _unreadable(error, partition) from error

    def read_again(self, partition: Partition, file: HashedFile) -> LandedFile:
        """A file that was hashed before.

        Raises LandingIncomplete where it cannot be read, or is not the file that was hashed.
        """
        path = self._layout.partition(partition) / file.name
        try:
            found = _read_whole(path)
        except OSError as error:
            raise _unreadable(error, partition) from error
        if found.sha256 != file.sha256:
            raise LandingIncomplete(
                f"{path} is not the file that it was",
                why="it was landed again while the partition was at work, or is another one here",
                next_command="run the partition again; every machine has to see the same folder",
                partition=partition,
            )
        return found

    def _read_settled(self, partition: Partition) -> tuple[bytes | None, Files]:
        # The retailer lands the manifest last: read first, it is there only if all else is. One
        # that changed meanwhile speaks of other files than those just read.
        for _ in range(READS):
            manifest = _read_optional(self._layout.manifest(partition))
            files = _read_sales(self._layout.partition(partition), self._read_file)
            if _read_optional(self._layout.manifest(partition)) == manifest:
                break
        return manifest, files

    def dimensions(self, partition: Partition) -> PartitionDimensions:
        """The dimensions of the partition.

        Raises LandingIncomplete where one that every partition needs is absent or unreadable.
        """
        return self._dimensions.load(partition)


def _read_optional(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _unreadable(error: OSError, partition: Partition) -> LandingIncomplete:
    return LandingIncomplete(
        f"{error.filename} cannot be read",
        why=error.strerror or str(error),
        next_command="make the landing folder readable for this user, then try again",
        partition=partition,
    )


def _read_sales(folder: Path, read: Callable[[Path], LandedFile | HashedFile]) -> Files:
    paths = sorted(
        path for prefix in (PART_PREFIX, SALES_PREFIX) for path in folder.glob(f"{prefix}*")
    )
    return tuple(read(path) for path in paths if path.is_file())


def _read_whole(path: Path) -> LandedFile:
    return LandedFile(name=path.name, content=path.read_bytes())


def _hash_file(path: Path) -> HashedFile:
    with path.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
        return HashedFile(name=path.name, size=content.tell(), sha256=digest)


def _digest(files: Files, manifest: bytes | None) -> str:
    parts = [f"{file.name}={file.sha256}" for file in files]
    parts.append("manifest=" + ("-" if manifest is None else hashlib.sha256(manifest).hexdigest()))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
