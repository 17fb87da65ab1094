"""The landed file of stores and regions: one row a store, or several where it has moved."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date as Date

from forecast_backfill.core.errors import DimensionRefused
from forecast_backfill.core.intervals import Incoherent, Interval, judge_intervals
from forecast_backfill.landing.layout import STORE_REGION_COLUMNS, VALIDITY_COLUMNS


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRegion:
    """The region of a store while `validity` holds; its key is the store."""

    region: str
    validity: Interval

    @property
    def store_id(self) -> str:
        """The store."""
        return self.validity.key


def parse_stores(content: bytes) -> tuple[StoreRegion, ...]:
    """The rows in the order of the file; a file without the dates says what always holds.

    Raises ValueError where a column is missing or a date is malformed.
    """
    reader = csv.DictReader(io.StringIO(content.decode(), newline=""))
    missing = [name for name in STORE_REGION_COLUMNS if name not in (reader.fieldnames or ())]
    if missing:
        raise ValueError(f"the column {missing[0]} is missing")
    return tuple(_row(row) for row in reader)


def _row(row: Mapping[str, str]) -> StoreRegion:
    start, end = (_date(row.get(name)) for name in VALIDITY_COLUMNS)
    return StoreRegion(
        region=row["region"], validity=Interval(key=row["store_id"], start=start, end=end)
    )


def _date(text: str | None) -> Date | None:
    return Date.fromisoformat(text) if text else None


def refuse_contradictions(rows: Iterable[StoreRegion], name: str) -> None:
    """Raise DimensionRefused where a store is in two regions on a date, or in none in between."""
    verdict = judge_intervals((row.validity for row in rows), gapless=True)
    if isinstance(verdict, Incoherent):
        raise DimensionRefused(
            f"the dimension {name} contradicts itself",
            why=verdict.reason,
            next_command=f"correct valid_from and valid_to in {name}, then try again",
        )


def current_regions(rows: Sequence[StoreRegion]) -> dict[str, str]:
    """The region of every store by its latest row, in the order in which the stores came."""
    latest = sorted(rows, key=lambda row: row.validity.start or Date.min)
    regions = {row.store_id: row.region for row in latest}
    return {row.store_id: regions[row.store_id] for row in rows}


def appended(content: bytes, regions: Mapping[str, str]) -> bytes:
    """The landed file with a row for each store that it lacks; what is there stays as it is."""
    known = current_regions(parse_stores(content))
    columns = content.decode().splitlines()[0].split(",")
    rows = [
        ",".join({"store_id": store, "region": region}.get(name, "") for name in columns)
        for store, region in regions.items()
        if store not in known
    ]
    start = content if content.endswith(b"\n") else content + b"\n"
    return start + "".join(f"{row}\n" for row in rows).encode()
