"""Opens the folder of an export for one export at a time, or says why it cannot take one."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from forecast_backfill.core.errors import ExportRefused, UsageRefused
from forecast_backfill.core.export_manifest import ExportManifest, read_manifest
from forecast_backfill.export_files.folder import ParquetFolder
from forecast_backfill.export_files.names import (
    ANOTHER_FOLDER,
    LOCK,
    MANIFEST,
    NEW_MANIFEST,
    refused,
)


@contextmanager
def open_folder(path: Path, *, kept_apart: Mapping[str, Path]) -> Iterator[ParquetFolder]:
    """The folder, made where it is not there, and nobody else's while the block lasts.

    `kept_apart` names folders that an export may neither lie in nor hold. Raises UsageRefused for a
    folder that is not meant for an export, and ExportRefused where another export is at work in it.
    """
    place = path.expanduser().resolve()
    _refuse_overlap(place, kept_apart)
    with refused(place):
        _read_manifest(place)
        place.mkdir(parents=True, exist_ok=True)
        lock = (place / LOCK).open("a")
    with lock:
        _take(lock, place)
        with refused(place):
            # Once more: another export may have ended meanwhile.
            folder = ParquetFolder(place, _read_manifest(place))
            folder.partitions()
        folder.sweep()
        yield folder


def _take(lock: IO[str], place: Path) -> None:
    """A lock of the operating system: whoever dies has let it go."""
    with refused(place):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ExportRefused(
                f"the export cannot be written to {place}",
                why="another export writes to it just now",
                next_command="wait for its end, and run the same command again",
            ) from error


def _refuse_overlap(place: Path, kept_apart: Mapping[str, Path]) -> None:
    for name, each in kept_apart.items():
        other = each.expanduser().resolve()
        if place.is_relative_to(other) or other.is_relative_to(place):
            raise UsageRefused(
                f"the folder {place} cannot take an export",
                why=f"it lies in or around {name}, {other}",
                next_command=ANOTHER_FOLDER,
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
        if {each.name for each in place.iterdir()} - {LOCK, NEW_MANIFEST}:
            why = f"it is not empty and has no {MANIFEST}, so no export has made it"
            raise _not_ours(place, why) from error
        return None
    except (ValueError, OSError) as error:
        why = f"its {MANIFEST} cannot be read as that of an export: {error}"
        raise _not_ours(place, why) from error


def _not_ours(place: Path, why: str) -> UsageRefused:
    return UsageRefused(
        f"the folder {place} cannot take an export", why=why, next_command=ANOTHER_FOLDER
    )
