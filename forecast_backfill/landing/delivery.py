"""How a delivery is written: packed and named the same every time, whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

from forecast_backfill.core.errors import SettingRefused
from forecast_backfill.core.manifest import SCHEMA_VERSION
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.source import (
    ControlTotals,
)

EXPORT_TIME = time(5, 0, tzinfo=UTC)
"""The retailer exports a business date on the next morning; no clock is read."""


def pack(content: bytes) -> bytes:
    """The content in gzip without file name or time, so that equal content gives equal bytes."""
    return zlib.compress(content, 6, wbits=31)


def sha256_of(content: bytes) -> str:
    """The SHA-256 in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def exported_at(partition: Partition) -> datetime:
    """When the partition's delivery counts as exported: 05:00 UTC of the day after."""
    return datetime.combine(partition.date + timedelta(days=1), EXPORT_TIME)


def manifest_fields(
    partition: Partition, *, file: str, content: bytes, totals: ControlTotals
) -> dict[str, object]:
    """The manifest of the landed file `file` with the bytes `content`."""
    return {
        "schema_version": SCHEMA_VERSION,
        "date": partition.date.isoformat(),
        "region": partition.region,
        "file": file,
        "sha256": sha256_of(content),
        "exported_at": exported_at(partition).isoformat(),
        "lines": totals.lines,
        "units": totals.units,
        "revenue_cents": totals.revenue_cents,
        "stores": totals.stores,
    }


def manifest_bytes(fields: dict[str, object]) -> bytes:
    """The manifest as it is landed."""
    return (json.dumps(fields, indent=2) + "\n").encode()


def place(path: Path, content: bytes) -> bool:
    """Put `content` at `path` in one step; False where exactly these bytes were there already.

    Raises SettingRefused where the folder cannot be written.
    """
    try:
        return _place(path, content)
    except OSError as error:
        raise SettingRefused(
            f"{path} cannot be written",
            why=error.strerror or str(error),
            next_command="export FORECAST_BACKFILL_LANDING=… with a folder that can be written",
        ) from error


def _place(path: Path, content: bytes) -> bool:
    try:
        if path.read_bytes() == content:
            return False
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    partial.write_bytes(content)
    partial.replace(path)
    return True
