"""Reads landed deliveries from a folder, each file once, and never changes one."""

from __future__ import annotations

import hashlib
from pathlib import Path

from forecast_backfill.core.errors import LandingIncomplete
from forecast_backfill.core.partition import Partition
from forecast_backfill.landing.dimensions import DimensionFiles, PartitionDimensions
from forecast_backfill.landing.layout import PART_PREFIX, SALES_PREFIX, Layout
from forecast_backfill.ports import LandedFile, LandedSource

READS = 3
"""How often a delivery is read that is being landed again meanwhile."""


class FileLanding:
    """The landing folder as the application sees it."""

    def __init__(self, directory: Path) -> None:
        self._layout = Layout(directory=directory)
        self._dimensions = DimensionFiles(self._layout)

    def read(self, partition: Partition) -> LandedSource:
        """Every sales file of the partition and its manifest; a missing folder holds none.

        Raises LandingIncomplete where a file is there but cannot be read.
        """
        try:
            manifest, files = self._read_settled(partition)
        except OSError as error:
            raise LandingIncomplete(
                f"{error.filename} cannot be read",
                why=error.strerror or str(error),
                next_command="make the landing folder readable for this user, then try again",
                partition=partition,
            ) from error
        return LandedSource(
            partition=partition, files=files, manifest=manifest, digest=_digest(files, manifest)
        )

    def _read_settled(self, partition: Partition) -> tuple[bytes | None, tuple[LandedFile, ...]]:
        # The retailer lands the manifest last: read first, it is there only if all else is. One
        # that changed meanwhile speaks of other files than those just read.
        for _ in range(READS):
            manifest = _read_optional(self._layout.manifest(partition))
            files = _read_sales(self._layout.partition(partition))
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


def _read_sales(folder: Path) -> tuple[LandedFile, ...]:
    paths = sorted(
        path for prefix in (PART_PREFIX, SALES_PREFIX) for path in folder.glob(f"{prefix}*")
    )
    return tuple(
        LandedFile(name=path.name, content=path.read_bytes()) for path in paths if path.is_file()
    )


def _digest(files: tuple[LandedFile, ...], manifest: bytes | None) -> str:
    parts = [f"{file.name}={hashlib.sha256(file.content).hexdigest()}" for file in files]
    parts.append("manifest=" + ("-" if manifest is None else hashlib.sha256(manifest).hexdigest()))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
