"""Which region a store belongs to: balanced once, then frozen and only appended to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date as Date
from datetime import timedelta
from pathlib import Path

import pandas as pd

from forecast_backfill.core.errors import SettingRefused
from forecast_backfill.landing.journey_data import FIRST_QUARTER_END
from forecast_backfill.landing.layout import STORE_REGION_COLUMNS
from forecast_backfill.landing.store_history import StoreRegion, current_regions, parse_stores

TRAILING = timedelta(days=28)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DealtStores:
    """The region of every store now, and the rows, in landed dates, of those that have moved."""

    current: Mapping[int, str]
    moves: tuple[StoreRegion, ...] = ()

    def on(self, day: Date) -> dict[int, str]:
        """The region of every store on `day`."""
        regions = dict(self.current)
        for row in self.moves:
            if day in row.validity:
                regions[int(row.store_id)] = row.region
        return regions

    def of_lines(self, stores: pd.Series, days: pd.Series) -> pd.Series:
        """The region of each line by its own day."""
        regions = stores.map(self.current)
        for row in self.moves:
            start, end = row.validity.start, row.validity.end
            holds = stores == int(row.store_id)
            if start is not None:
                holds &= days >= pd.Timestamp(start)
            if end is not None:
                holds &= days < pd.Timestamp(end)
            regions = regions.mask(holds, row.region)
        return regions


def moves_of(history: Sequence[StoreRegion]) -> tuple[StoreRegion, ...]:
    """The rows of stores of the data that have dates."""
    return tuple(
        row
        for row in history
        if row.store_id.isdecimal() and (row.validity.start or row.validity.end)
    )


def assign_regions(
    lines: pd.DataFrame, demand: pd.DataFrame, regions: Sequence[str], frozen: Mapping[int, str]
) -> dict[int, str]:
    """The region of every store in `lines`, in the order of assignment; `frozen` ones stay.

    Where nothing is frozen, stores of the first quarter are dealt largest first to the lightest
    region. A later store goes to the region that sold least in the 28 days before its first.
    """
    mapping = dict(frozen) or _balance(demand[demand["day"] <= FIRST_QUARTER_END], regions)
    first_days = lines.groupby("store_id")["day"].min()
    new = first_days[~first_days.index.isin(list(mapping))]
    daily = demand.groupby(["day", "store_id"])["sales_cents"].sum().reset_index()
    for store, day in sorted(new.items(), key=lambda item: (item[1], item[0])):
        recent = daily[(daily["day"] < day) & (daily["day"] >= day - TRAILING)]
        weights = dict.fromkeys(regions, 0)
        for name, cents in _sales_by_region(recent, mapping).items():
            weights[name] += cents
        mapping[int(store)] = _lightest(weights)
    return mapping


def _balance(sales: pd.DataFrame, regions: Sequence[str]) -> dict[int, str]:
    weights = dict.fromkeys(regions, 0)
    mapping: dict[int, str] = {}
    totals = sales.groupby("store_id")["sales_cents"].sum()
    for store, cents in sorted(totals.items(), key=lambda item: (-item[1], item[0])):
        region = _lightest(weights)
        mapping[int(store)] = region
        weights[region] += int(cents)
    return mapping


def _lightest(weights: Mapping[str, int]) -> str:
    return min(weights, key=lambda region: weights[region])


def _sales_by_region(daily: pd.DataFrame, mapping: Mapping[int, str]) -> dict[str, int]:
    regions = daily["store_id"].map(mapping)
    return {str(name): int(v) for name, v in daily["sales_cents"].groupby(regions).sum().items()}


def read_mapping(path: Path, regions: Sequence[str]) -> dict[str, str]:
    """The frozen mapping as landed, each store where it is now; empty where there is none yet.

    Raises SettingRefused where it names a region that the settings do not have.
    """
    return current_regions(read_history(path, regions))


def read_history(path: Path, regions: Sequence[str]) -> tuple[StoreRegion, ...]:
    """The frozen rows as landed, in their order.

    Raises SettingRefused where they name a region that the settings do not have.
    """
    if not path.exists():
        return ()
    rows = parse_stores(path.read_bytes())
    unknown = sorted({row.region for row in rows} - set(regions))
    if unknown:
        raise SettingRefused(
            f"the region {unknown[0]} is not among the settings' regions",
            why=f"{path} has stores of it, and that mapping is frozen",
            next_command="export FORECAST_BACKFILL_REGIONS=… with it, or land into another folder",
        )
    return rows


def mapping_file(mapping: Mapping[str, str]) -> bytes:
    """The mapping as CSV, in the order of assignment."""
    rows = [",".join(STORE_REGION_COLUMNS)]
    rows += [f"{store},{region}" for store, region in mapping.items()]
    return "".join(f"{row}\n" for row in rows).encode()


def copy_name(name: int | str, copy: int) -> str:
    """The name of a store or basket in a copy for load tests: `330`, `330c1`, …"""
    return str(name) if copy == 0 else f"{name}c{copy}"


def with_copies(stores: Mapping[int, str], frozen: Mapping[str, str], scale: int) -> dict[str, str]:
    """The mapping to land: what is frozen, then the stores, then their copies."""
    mapping = dict(frozen)
    for copy in range(scale):
        for store, region in stores.items():
            mapping.setdefault(copy_name(store, copy), region)
    return mapping
