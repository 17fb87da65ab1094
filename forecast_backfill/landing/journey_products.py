"""The product dimension: which rule leaves a product out, and to which demand group it belongs."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pandas as pd

from forecast_backfill.landing.layout import PRODUCT_COLUMNS

ALONE_SHARE = 0.01
REST_SHARE = 0.008
ALL_OTHER = "ALL OTHER"

_EXCLUDED_DEPARTMENTS = {
    "FUEL": "fuel",
    "COUPON": "coupon",
    "MISCELLANEOUS": "miscellaneous",
    "POSTAL CENTER": "postal",
    "CNTRL/STORE SUP": "supplies",
    "PHOTO & VIDEO": "photo",
}
_COUPON_CATEGORY = "COUPON/MISC ITEMS"


def load_products(path: Path) -> pd.DataFrame:
    """Department, category ('' where unknown) and exclusion of every product, by product_id."""
    columns = ["product_id", "department", "product_category", "product_type"]
    raw = pd.read_parquet(path, columns=columns).set_index("product_id").sort_index().fillna("")
    exclusion = raw["department"].map(_EXCLUDED_DEPARTMENTS).fillna("")
    exclusion = exclusion.mask(
        (exclusion == "") & (raw["product_category"] == _COUPON_CATEGORY), "coupon_item"
    )
    # Gasoline is sold under MISCELLANEOUS too.
    exclusion = exclusion.mask(raw["product_type"].str.startswith("GASOLINE"), "fuel")
    return pd.DataFrame(
        {
            "department": raw["department"],
            "category": raw["product_category"],
            "exclusion": exclusion,
        }
    )


def assign_demand_groups(products: pd.DataFrame, sold: pd.DataFrame) -> pd.Series:
    """The demand group of every product, '' for one that is left out.

    Decided on `sold` (product_id, quantity): a category with 1 % of the units stands alone, what
    is left of a department goes together, and where that is under 0.8 % it goes to ALL OTHER.
    """
    units = sold.groupby("product_id")["quantity"].sum()
    known = products.loc[units.index]
    total = units.sum()
    by_category = units.groupby(known["category"].to_numpy()).sum()
    alone = set(by_category[by_category >= ALONE_SHARE * total].index) - {""}
    rest = ~known["category"].isin(alone)
    by_department = units[rest].groupby(known["department"][rest].to_numpy()).sum()
    kept = set(by_department[by_department >= REST_SHARE * total].index)
    department = products["department"]
    group = (department + " OTHER").where(department.isin(kept), ALL_OTHER)
    group = group.mask(products["category"].isin(alone), products["category"])
    return group.mask(products["exclusion"] != "", "")


def product_file(products: pd.DataFrame) -> bytes:
    """The product dimension as CSV, by product_id; `products` has a demand_group."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(PRODUCT_COLUMNS)
    columns = [products[name].tolist() for name in PRODUCT_COLUMNS[1:]]
    writer.writerows(zip(products.index.tolist(), *columns, strict=True))
    return sink.getvalue().encode()
