"""Exports of the small campaigns' chain, and what readers find in the folder."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb

from forecast_backfill.app.export import Exported, ExportPorts, export
from forecast_backfill.core.partition import DateRange, Partition, partitions_of
from forecast_backfill.settings import Settings
from forecast_backfill.wiring.export import open_export
from forecast_backfill_tests.app.campaigns import (
    FIRST,
    good_lines,
    land_campaign,
    run_campaign,
    settings_for,
)
from forecast_backfill_tests.landing.hand_made import land

DATES = DateRange(start=FIRST, end=FIRST + timedelta(days=2))
PARTITIONS = list(partitions_of(DATES, ["R01", "R02"]))
ONE, TWO, THREE, FOUR = PARTITIONS


def exported_settings(url: str, home: Path, **changes: Any) -> Settings:
    """Settings of a chain whose four partitions are built, of two rows and eight units each."""
    land_campaign(home, PARTITIONS)
    settings = settings_for(url, home, **{"backfill_nice": 0, **changes})
    run_campaign(settings, PARTITIONS)
    return settings


def land_again(settings: Settings, partitions: list[Partition], *, quantity: str = "7") -> None:
    """The partitions are landed and built with other units: 28 each."""
    land_campaign(settings.home, partitions, quantity=quantity)
    run_campaign(settings, partitions)


def refuse_source(settings: Settings, partition: Partition) -> None:
    """The partition's delivery now has a fault, and its last good output is stale."""
    lines = good_lines(partition)
    lines[0]["quantity"] = "many"
    land(settings.landing_directory, partition, lines)
    run_campaign(settings, [partition])


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


PLACES = [place_of(each) for each in PARTITIONS]


def units(folder: Path) -> Mapping[tuple[Any, ...], int]:
    """Units by date and region, as DuckDB reads the folder."""
    found: Counter[tuple[Any, ...]] = Counter()
    for row in read_rows(folder):
        found[row[:2]] += row[4]
    return found


def listed(folder: Path) -> list[tuple[str, str]]:
    """Date and region of what the manifest lists as exported."""
    return [(each["date"], each["region"]) for each in manifest_of(folder)["partitions"]]
