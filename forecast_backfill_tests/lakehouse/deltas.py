"""A Delta lakehouse as the tests write it, kill it and read it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from forecast_backfill.core.partition import Partition
from forecast_backfill.settings import Settings
from forecast_backfill_tests.app.campaigns import FIRST, settings_for

PARTITION = Partition(date=FIRST, region="R01")


def delta_settings(url: str, home: Path, **changes: Any) -> Settings:
    """Settings of a chain of two regions whose rows go to a lakehouse; nightly owns all dates."""
    return settings_for(url, home, **{"warehouse": "delta", "seam": FIRST, **changes})


def table_of(settings: Settings) -> DeltaTable:
    """The table as any Delta engine opens it."""
    return DeltaTable(str(settings.lakehouse_directory / "daily_demand"))


def delta_rows(settings: Settings, partition: Partition | None = None) -> list[tuple[Any, ...]]:
    """(date, region, store, product, units, authority, version, hash) of every row, ordered."""
    names = ["date", "region", "store_id", "product_id", "units"]
    names += ["authority", "source_version", "row_hash"]
    table = table_of(settings).to_pyarrow_table(columns=names)
    rows = sorted(tuple(row[name] for name in names) for row in table.to_pylist())
    if partition is None:
        return rows
    return [row for row in rows if row[:2] == (partition.date, partition.region)]


def units_of(settings: Settings, partition: Partition = PARTITION) -> dict[tuple[str, str], int]:
    """Units by key of one partition."""
    return {row[2:4]: row[4] for row in delta_rows(settings, partition)}


def last_commit(settings: Settings) -> dict[str, Any]:
    """What the last commit says of itself."""
    (found,) = table_of(settings).history(limit=1)
    return found


def commits(settings: Settings) -> int:
    """How many commits the table has seen since it was made."""
    return table_of(settings).version()


def data_files(settings: Settings) -> list[Path]:
    """Every Parquet file in the table's folder, current or not."""
    folder = settings.lakehouse_directory / "daily_demand"
    return sorted(each for each in folder.rglob("*.parquet") if "_delta_log" not in each.parts)


def stated(commit: dict[str, Any]) -> dict[str, Any]:
    """The fingerprint of the one partition in a commit's metadata."""
    (found,) = json.loads(commit["forecast_backfill.fingerprints"])
    return found
