"""Spoils landed deliveries for demos: which ones and how follows from the arguments alone."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forecast_backfill.core.errors import UsageRefused
from forecast_backfill.core.partition import DateRange, Partition, partitions_of
from forecast_backfill.core.source import FaultCode
from forecast_backfill.landing.damage_ways import WAYS, Delivery, Spoiled
from forecast_backfill.landing.delivery import manifest_bytes, place, sha256_of
from forecast_backfill.landing.layout import Layout
from forecast_backfill.landing.store_history import parse_stores

SPOILED_NAME = "sales.csv.gz"


@dataclass(frozen=True, slots=True, kw_only=True)
class Damaged:
    """A delivery that was spoiled, and the fault that it must be found as."""

    partition: Partition
    way: str
    found_as: FaultCode


def damage(
    directory: Path, *, dates: DateRange, regions: Sequence[str], count: int
) -> tuple[Damaged, ...]:
    """Spoil `count` good deliveries of the range, the ways in turn; land again to repair them.

    Raises UsageRefused where the range has fewer deliveries with at least two lines.
    """
    layout = Layout(directory=directory)
    store_regions = _store_regions(layout)
    found = _choose(layout, dates, regions, store_regions)
    chosen = [delivery for delivery, _ in zip(found, range(count), strict=False)]
    if len(chosen) < count:
        raise UsageRefused(
            f"{count} deliveries cannot be damaged",
            why=f"only {len(chosen)} in the range are whole and hold two lines or more",
            next_command=f"forecast-backfill landing --damage {len(chosen)}",
        )
    damaged: list[Damaged] = []
    for number, delivery in enumerate(chosen):
        way = WAYS[number % len(WAYS)]
        _land(layout, delivery.partition, way.spoil(delivery))
        damaged.append(Damaged(partition=delivery.partition, way=way.name, found_as=way.found_as))
    return tuple(damaged)


def _choose(
    layout: Layout, dates: DateRange, regions: Sequence[str], store_regions: dict[str, set[str]]
) -> Iterator[Delivery]:
    """The good deliveries, in an order that looks like chance and is always the same."""
    partitions = sorted(
        partitions_of(dates, regions), key=lambda p: hashlib.sha256(str(p).encode()).digest()
    )
    for partition in partitions:
        delivery = _read_good(layout, partition, store_regions)
        if delivery is not None and len(delivery.rows) > 2:
            yield delivery


def _read_good(
    layout: Layout, partition: Partition, store_regions: dict[str, set[str]]
) -> Delivery | None:
    try:
        content = (layout.partition(partition) / SPOILED_NAME).read_bytes()
        manifest = json.loads(layout.manifest(partition).read_bytes())
    except FileNotFoundError:
        return None
    if manifest["sha256"] != sha256_of(content):
        return None
    try:
        rows = tuple(zlib.decompress(content, wbits=31).decode().splitlines())
    except (zlib.error, UnicodeDecodeError):
        return None
    others = (name for name, regions in store_regions.items() if partition.region not in regions)
    return Delivery(partition=partition, rows=rows, foreign_store=next(others, "foreign"))


def _store_regions(layout: Layout) -> dict[str, set[str]]:
    """The regions in which each store ever was."""
    regions: dict[str, set[str]] = {}
    for row in parse_stores(layout.store_region.read_bytes()):
        regions.setdefault(row.store_id, set()).add(row.region)
    return regions


def _land(layout: Layout, partition: Partition, spoiled: Spoiled) -> None:
    path, manifest_path = layout.partition(partition) / SPOILED_NAME, layout.manifest(partition)
    fields: dict[str, Any] = json.loads(manifest_path.read_bytes())
    if spoiled.file is None:
        path.unlink()
    else:
        place(path, spoiled.file)
        fields["sha256"] = spoiled.sha256 or sha256_of(spoiled.file)
    if spoiled.has_manifest:
        place(manifest_path, manifest_bytes(fields))
    else:
        manifest_path.unlink()
