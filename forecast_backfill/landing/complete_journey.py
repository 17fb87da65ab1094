"""Lands The Complete Journey as a retailer would: dimensions first, each manifest last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date as Date
from pathlib import Path
from zoneinfo import ZoneInfo

import pandas as pd

from forecast_backfill.core.errors import UsageRefused
from forecast_backfill.core.partition import DateRange, Partition, partitions_of
from forecast_backfill.landing.delivery import manifest_bytes, manifest_fields, pack, place
from forecast_backfill.landing.journey_data import FIRST_QUARTER_END, Journey, load_journey
from forecast_backfill.landing.journey_dates import Window, choose_window
from forecast_backfill.landing.journey_lines import (
    line_file,
    slices_by_partition,
    totals_of,
    window_lines,
)
from forecast_backfill.landing.journey_prices import price_file, price_versions, regular_prices
from forecast_backfill.landing.journey_products import assign_demand_groups, product_file
from forecast_backfill.landing.journey_promotions import (
    promotion_files,
    read_weeks,
    week_monday,
    week_number,
)
from forecast_backfill.landing.journey_regions import (
    DealtStores,
    assign_regions,
    mapping_file,
    moves_of,
    read_history,
    with_copies,
)
from forecast_backfill.landing.layout import Layout
from forecast_backfill.landing.store_history import appended, current_regions

Progress = Callable[[str, int, int], None]
"""Called with what is being landed, how many of it are done, and how many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LandingOrder:
    """What to land. `regions` are all that stores are dealt to, `landed` those that get files.

    `scale` multiplies the real lines over that many copies of the stores, for load tests.
    """

    directory: Path
    zone: ZoneInfo
    regions: tuple[str, ...]
    landed: tuple[str, ...]
    as_of: Date
    days: int
    scale: int = 1

    def __post_init__(self) -> None:
        unknown = [region for region in self.landed if region not in self.regions]
        if unknown or not self.landed:
            raise UsageRefused(
                f"the region {unknown[0]} is unknown" if unknown else "no region was named",
                why=f"the settings have {len(self.regions)} regions, from {self.regions[0]} on",
                next_command="forecast-backfill landing (without --regions lands all)",
            )
        if self.scale < 1:
            raise UsageRefused(
                f"a scale of {self.scale} lands nothing",
                why="it counts copies of the stores",
                next_command="forecast-backfill landing --scale 1",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class LandingSummary:
    """What lies in the folder now: sales files, how many of all files were written, and sizes."""

    files: int
    written: int
    lines: int
    bytes: int
    first: Date
    last: Date


def land_journey(order: LandingOrder, progress: Progress) -> LandingSummary:
    """Land the order; files that already hold exactly what they should are not touched.

    Raises UsageRefused where the data holds fewer days, and SettingRefused where the data's
    package is not installed or the folder's frozen mapping names an unknown region.
    """
    progress("data", 0, 1)
    journey = load_journey(order.zone)
    progress("data", 1, 1)
    return land_loaded(journey, order, progress)


def land_loaded(journey: Journey, order: LandingOrder, progress: Progress) -> LandingSummary:
    """As `land_journey`, with the data at hand; `journey` is of the order's time zone."""
    layout = Layout(directory=order.directory)
    window = choose_window(
        first_day=journey.first_day,
        last_day=journey.last_day,
        as_of=order.as_of,
        days=order.days,
    )
    stores, written = _land_stores(journey, layout, order)
    written += _land_products(journey, layout)
    written += _land_prices(journey, layout, window)
    written += _land_promotions(journey, layout, window, stores, order, progress)
    return _land_partitions(journey, layout, window, stores, order, progress, written)


def _land_stores(journey: Journey, layout: Layout, order: LandingOrder) -> tuple[DealtStores, int]:
    history = read_history(layout.store_region, order.regions)
    landed = current_regions(history)
    frozen = {int(name): region for name, region in landed.items() if name.isdecimal()}
    stores = assign_regions(journey.lines, journey.demand, order.regions, frozen)
    mapping = with_copies(stores, landed, order.scale)
    if history:
        content = appended(layout.store_region.read_bytes(), mapping)
    else:
        content = mapping_file(mapping)
    dealt = DealtStores(current=stores, moves=moves_of(history))
    return dealt, int(place(layout.store_region, content))


def _land_products(journey: Journey, layout: Layout) -> int:
    demand = journey.demand
    sold = demand[demand["day"] <= FIRST_QUARTER_END]
    groups = assign_demand_groups(journey.products, sold)
    content = product_file(journey.products.assign(demand_group=groups))
    return int(place(layout.product, pack(content)))


def _land_prices(journey: Journey, layout: Layout, window: Window) -> int:
    versions = price_versions(regular_prices(journey.demand, journey.products))
    return int(place(layout.shelf_price, pack(price_file(versions, window))))


def _land_promotions(
    journey: Journey,
    layout: Layout,
    window: Window,
    stores: DealtStores,
    order: LandingOrder,
    progress: Progress,
) -> int:
    weeks = range(
        week_number(window.first - window.shift), week_number(window.last - window.shift) + 1
    )
    written = 0
    progress("promotions", 0, len(weeks))
    for done, (week, facts) in enumerate(read_weeks(journey.promotions, weeks), start=1):
        monday = week_monday(week) + window.shift
        dealt = stores.on(monday)
        for region, content in promotion_files(facts, monday, dealt, order.landed, order.scale):
            path = layout.promotion(Partition(date=monday, region=region))
            written += place(path, content)
        progress("promotions", done, len(weeks))
    return written


def _land_partitions(
    journey: Journey,
    layout: Layout,
    window: Window,
    stores: DealtStores,
    order: LandingOrder,
    progress: Progress,
    written: int,
) -> LandingSummary:
    lines = window_lines(journey.lines, stores, window, order.zone)
    found = slices_by_partition(lines)
    partitions = list(partitions_of(dates_of(window), order.landed))
    landed_lines, size = 0, 0
    for done, partition in enumerate(partitions, start=1):
        where = found.get((pd.Timestamp(partition.date), partition.region), slice(0, 0))
        one = _land_one(layout, partition, lines.iloc[where], order.scale)
        landed_lines, size, written = landed_lines + one[0], size + one[1], written + one[2]
        progress("deliveries", done, len(partitions))
    return LandingSummary(
        files=len(partitions),
        written=written,
        lines=landed_lines,
        bytes=size,
        first=window.first,
        last=window.last,
    )


def dates_of(window: Window) -> DateRange:
    """The window as a half-open range."""
    return DateRange(start=window.first, end=Date.fromordinal(window.last.toordinal() + 1))


def _land_one(
    layout: Layout, partition: Partition, lines: pd.DataFrame, scale: int
) -> tuple[int, int, int]:
    """Land one delivery: its lines, its bytes, and how many of its two files were written."""
    path = layout.partition(partition) / "sales.csv.gz"
    content = pack(line_file(lines, scale))
    totals = totals_of(lines, scale)
    fields = manifest_fields(partition, file=path.name, content=content, totals=totals)
    written = place(path, content)
    written += place(layout.manifest(partition), manifest_bytes(fields))
    return totals.lines, len(content), written
