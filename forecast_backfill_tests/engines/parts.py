"""Deliveries of several files: sources.LINES cut in two, with a manifest that lists both."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from forecast_backfill.ports import LandedFile, LandedSource
from forecast_backfill_tests.engines.sources import LINES, PARTITION, csv_of

CUT = (LINES[:2], LINES[2:])


def parts_of(groups: Sequence[Sequence[str]] = CUT) -> list[LandedFile]:
    """One packed file a group of lines."""
    return [
        LandedFile(name=f"part-{number:04d}.csv.gz", content=gzip.compress(csv_of(lines), mtime=0))
        for number, lines in enumerate(groups, start=1)
    ]


def manifest_of(
    files: Sequence[LandedFile],
    groups: Sequence[Sequence[str]] = CUT,
    **changes: Any,
) -> dict[str, Any]:
    """The manifest that is true of the files and of LINES; `changes` replace single fields."""
    parts = [
        {
            "file": file.name,
            "sha256": hashlib.sha256(file.content).hexdigest(),
            "lines": len(lines),
        }
        for file, lines in zip(files, groups, strict=True)
    ]
    return {
        "schema_version": 1,
        "date": PARTITION.date.isoformat(),
        "region": PARTITION.region,
        "parts": parts,
        "exported_at": "2026-03-02T04:00:00+00:00",
        "lines": 4,
        "units": 7,
        "revenue_cents": 1125,
        "stores": 2,
    } | changes


def source_in_parts(
    files: Sequence[LandedFile], manifest: Mapping[str, Any] | None
) -> LandedSource:
    """A source of these files."""
    return LandedSource(
        partition=PARTITION,
        files=tuple(files),
        manifest=None if manifest is None else json.dumps(manifest).encode(),
        digest="digest",
    )
