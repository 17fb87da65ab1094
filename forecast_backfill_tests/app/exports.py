"""Exports of the small campaigns' chain, and what readers find in the folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb

from forecast_backfill.app.export import Exported, ExportPorts, export
from forecast_backfill.core.partition import DateRange, Partition, partitions_of
from forecast_backfill.export_wiring import open_export
from forecast_backfill.settings import Settings
from forecast_backfill_tests.app.campaigns import FIRST

DATES = DateRange(start=FIRST, end=FIRST + timedelta(days=2))
PARTITIONS = list(partitions_of(DATES, ["R01", "R02"]))
ONE, TWO, THREE, FOUR = PARTITIONS


class Frozen:
    """A clock that stands still."""

    def __init__(self, day: int = 1) -> None:
        self.day = day

    def now(self) -> datetime:
        return datetime(2026, 12, self.day, 4, 30, tzinfo=UTC)

    def monotonic(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        raise AssertionError(f"an export waits for {seconds} s")


def run_export(
    settings: Settings,
    folder: Path,
    partitions: list[Partition] = PARTITIONS,
    *,
    day: int = 1,
    broken_by: type[Any] | None = None,
) -> Exported:
    """Export the partitions on the day of December; `broken_by` wraps the folder."""
    with open_export(settings) as wiring, wiring.into(folder) as ports:
        opened = ports.folder if broken_by is None else broken_by(ports.folder)
        return export(
            partitions, ExportPorts(source=ports.source, folder=opened, clock=Frozen(day))
        )


def contents(folder: Path) -> Mapping[str, bytes]:
    """Every file that an engine looks at, by its place."""
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not file.name.startswith((".", "_"))
    }


def manifest_of(folder: Path) -> dict[str, Any]:
    """The manifest as any reader parses it."""
    found: dict[str, Any] = json.loads((folder / "_export.json").read_text(encoding="utf-8"))
    return found


def read_rows(folder: Path) -> list[tuple[Any, ...]]:
    """(date, region, store, product, units, revenue, display) as DuckDB reads the folder."""
    files = f"{folder}/*/*/*.parquet"
    return duckdb.sql(
        "SELECT date, region, store_id, product_id, units, revenue_cents, list_price_cents,"
        f" on_display FROM read_parquet('{files}', hive_partitioning = true)"
        " ORDER BY date, region, store_id, product_id"
    ).fetchall()


def place_of(partition: Partition) -> str:
    """Where the partition's file lies in the folder."""
    return f"date={partition.date}/region={partition.region}/daily_demand.parquet"
