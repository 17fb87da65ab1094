"""Where everything lies in the landing folder: one place that knows the names."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date as Date
from datetime import timedelta
from pathlib import Path

from forecast_backfill.core.partition import Partition

MANIFEST_NAME = "manifest.json"
SALES_PREFIX = "sales."
PART_PREFIX = "part-"
"""A delivery too large for one file comes as part-0001.csv.gz, part-0002.csv.gz, …"""
SALES_NAMES: tuple[str, ...] = ("sales.csv.gz", "sales.csv", "sales.parquet")

PRODUCT_COLUMNS: tuple[str, ...] = (
    "product_id",
    "department",
    "category",
    "demand_group",
    "exclusion",
)
"""`exclusion` is empty, or names the declared rule that leaves the product out of demand."""

STORE_REGION_COLUMNS: tuple[str, ...] = ("store_id", "region")
VALIDITY_COLUMNS: tuple[str, ...] = ("valid_from", "valid_to")
"""May follow the columns of a store's region: half-open, empty where an end is open."""

PROMOTION_RECORDED = "recorded_at"
"""An optional column of the promotion facts: when the week's promotions were decided."""

SHELF_PRICE_COLUMNS: tuple[str, ...] = (
    "product_id",
    "price_cents",
    "valid_from",
    "valid_to",
    "recorded_at",
)
"""`recorded_at` is when the retailer entered the price: before it holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The paths below one landing folder; it creates none of them."""

    directory: Path

    def partition(self, partition: Partition) -> Path:
        """The folder of one (date, region)."""
        return self.directory / f"date={partition.date.isoformat()}" / f"region={partition.region}"

    def manifest(self, partition: Partition) -> Path:
        """The manifest, which is landed last: without it the delivery is incomplete."""
        return self.partition(partition) / MANIFEST_NAME

    @property
    def product(self) -> Path:
        """Every product, with its demand group and the rule that leaves it out."""
        return self.directory / "dimensions" / "product.csv.gz"

    @property
    def store_region(self) -> Path:
        """The frozen mapping of stores to regions; lines are only appended."""
        return self.directory / "dimensions" / "store_region.csv"

    @property
    def shelf_price(self) -> Path:
        """The versions of every product's regular price."""
        return self.directory / "dimensions" / "shelf_price.csv.gz"

    def promotion(self, partition: Partition) -> Path:
        """The promotion facts of the partition's week and region."""
        week = monday_of(partition.date)
        return (
            self.directory
            / "dimensions"
            / "promotion"
            / f"week={week.isoformat()}"
            / f"region={partition.region}.parquet"
        )


def monday_of(day: Date) -> Date:
    """The Monday on which the week of `day` begins."""
    return day - timedelta(days=day.weekday())
