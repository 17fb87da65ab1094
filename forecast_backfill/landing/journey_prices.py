"""The regular price of a product, as versions that begin on Mondays, derived from what was paid."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd

from forecast_backfill.landing.journey_dates import Window
from forecast_backfill.landing.layout import SHELF_PRICE_COLUMNS

RANDOM_WEIGHT = ("PRODUCE", "MEAT", "SEAFOOD", "DELI", "SALAD BAR")
"""Departments that sell by weight: their lines have no price a piece."""

MIN_BASKETS = 2
RECORDED_BEFORE = timedelta(days=2)
"""A price that holds from Monday is entered on the Saturday before."""


def regular_prices(demand: pd.DataFrame, products: pd.DataFrame) -> pd.DataFrame:
    """The demand lines that have a regular price: product_id, basket_id, day, price_cents.

    It is what the line cost before the retailer's discounts, divided by the quantity; a line that
    does not divide has none, nor has one of a department that sells by weight.
    """
    regular = demand["sales_cents"] + demand["retail_cents"] + demand["coupon_cents"]
    by_weight = products["department"].isin(RANDOM_WEIGHT)
    is_fixed = ~demand["product_id"].map(by_weight).astype(bool)
    has_price = is_fixed & (regular % demand["quantity"] == 0)
    lines = demand.loc[has_price, ["product_id", "basket_id", "day"]]
    return lines.assign(price_cents=regular[has_price] // demand.loc[has_price, "quantity"])


def price_versions(prices: pd.DataFrame) -> pd.DataFrame:
    """The versions (product_id, price_cents, valid_from a Monday), sorted, from regular prices.

    A week's price is the most frequent one, of two baskets at least. A price of one observed week
    between two of another price is an error of a label, and weeks without a price change nothing.
    """
    monday = prices["day"] - pd.to_timedelta(prices["day"].dt.weekday, unit="D")
    weekly = _weekly_prices(prices.assign(valid_from=monday))
    product, price = weekly["product_id"].to_numpy(), weekly["price_cents"].to_numpy()
    weekly = weekly[~_is_flap(product, price)]
    product, price = weekly["product_id"].to_numpy(), weekly["price_cents"].to_numpy()
    is_new = np.append(True, (product[1:] != product[:-1]) | (price[1:] != price[:-1]))
    versions = weekly[is_new[: len(weekly)]].reset_index(drop=True)
    return versions[["product_id", "price_cents", "valid_from"]]


def _weekly_prices(prices: pd.DataFrame) -> pd.DataFrame:
    """The most frequent price of each product and week, the highest where two are as frequent."""
    key = ["product_id", "valid_from"]
    counts = prices.drop_duplicates([*key, "price_cents", "basket_id"])
    counts = counts.groupby([*key, "price_cents"]).size().rename("baskets").reset_index()
    counts = counts.sort_values([*key, "baskets", "price_cents"])
    modal = counts.drop_duplicates(key, keep="last")
    return modal[modal["baskets"] >= MIN_BASKETS]


def _is_flap(product: np.ndarray, price: np.ndarray) -> np.ndarray:
    flap = np.zeros(len(price), dtype=bool)
    before, here, after = price[:-2], price[1:-1], price[2:]
    flap[1:-1] = (before == after) & (here != before) & (product[:-2] == product[2:])
    return flap


def price_file(versions: pd.DataFrame, window: Window) -> bytes:
    """The versions as CSV, moved to the window; what is recorded only after its end is left out."""
    moved = versions.assign(valid_from=versions["valid_from"] + pd.Timedelta(window.shift))
    end = pd.Timestamp(window.last) + pd.Timedelta(days=1)
    moved = moved[moved["valid_from"] - pd.Timedelta(RECORDED_BEFORE) < end]
    products, starts = moved["product_id"].tolist(), moved["valid_from"].dt.date.tolist()
    rows = [",".join(SHELF_PRICE_COLUMNS)]
    following = [*zip(products[1:], starts[1:], strict=True), (None, None)]
    for product, cents, start, (next_product, next_start) in zip(
        products, moved["price_cents"].tolist(), starts, following, strict=True
    ):
        end_text = next_start.isoformat() if next_product == product and next_start else ""
        recorded = datetime(start.year, start.month, start.day, 12, tzinfo=UTC) - RECORDED_BEFORE
        rows.append(f"{product},{cents},{start.isoformat()},{end_text},{recorded.isoformat()}")
    return "".join(f"{row}\n" for row in rows).encode()
