"""Names in the folder of an export, and the error that writing there ends in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from forecast_backfill.core.errors import ExportRefused
from forecast_backfill.core.partition import Partition

MANIFEST = "_export.json"
FILE = "daily_demand.parquet"
# Engines pass over names that begin with a dot or an underscore.
LOCK, STAGED, NEW_MANIFEST = ".export.lock", f".{FILE}.part", "._export.json.part"
ANOTHER_FOLDER = "forecast-backfill export FOLDER … with a folder that is new or empty"


def unwritable(place: Path, why: str, partition: Partition | None = None) -> ExportRefused:
    """The error of a folder that cannot be written."""
    return ExportRefused(
        f"the export cannot be written to {place}",
        why=why,
        next_command="make room or give the right to write, and run the same command again: it "
        "goes on where it stopped",
        partition=partition,
    )


@contextmanager
def refused(place: Path, partition: Partition | None = None) -> Iterator[None]:
    """Turn what the operating system says into ExportRefused."""
    try:
        yield
    except OSError as error:
        raise unwritable(place, str(error), partition) from error
