"""Turns one partition's lines into the landed file and its control totals."""

from __future__ import annotations

from collections.abc import Sequence
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from forecast_backfill.core.source import LINE_COLUMNS, ControlTotals
from forecast_backfill.landing.journey_dates import Window, iso_local
from forecast_backfill.landing.journey_regions import DealtStores, copy_name

HEADER = ",".join(LINE_COLUMNS)


def window_lines(
    lines: pd.DataFrame, stores: DealtStores, window: Window, zone: ZoneInfo
) -> pd.DataFrame:
    """The window's lines with moved dates as they are landed, in the order of landing.

    Adds `region` and the text `sold_at`; `day` is the moved date.
    """
    shift = pd.Timedelta(window.shift)
    first, last = pd.Timestamp(window.first), pd.Timestamp(window.last)
    day = lines["day"] + shift
    inside = lines[(day >= first) & (day <= last)]
    moved = inside.assign(
        day=inside["day"] + shift,
        local=inside["local"] + shift,
        region=stores.of_lines(inside["store_id"], inside["day"] + shift),
    )
    moved = moved.sort_values(["day", "region", "local", "basket_id", "product_id"])
    return moved.assign(sold_at=iso_local(moved["local"].to_numpy(), zone))


def line_file(lines: pd.DataFrame, scale: int) -> bytes:
    """The lines as CSV with a header, all of a copy before those of the next."""
    values = [
        lines["product_id"].astype(str).tolist(),
        lines["sold_at"].tolist(),
        lines["quantity"].astype(str).tolist(),
        *(_decimals(lines[f"{name}_cents"]) for name in ("sales", "retail", "coupon")),
    ]
    stores, baskets = lines["store_id"].tolist(), lines["basket_id"].tolist()
    rows, number = [HEADER], 0
    for copy in range(scale):
        for basket, store, *rest in zip(baskets, stores, *values, strict=True):
            number += 1
            names = (str(number), copy_name(basket, copy), copy_name(store, copy))
            rows.append(",".join((*names, *rest)))
    return ("\n".join(rows) + "\n").encode()


def totals_of(lines: pd.DataFrame, scale: int) -> ControlTotals:
    """What the manifest says of the file."""
    return ControlTotals(
        lines=len(lines) * scale,
        units=int(lines["quantity"].sum()) * scale,
        revenue_cents=int(lines["sales_cents"].sum()) * scale,
        stores=int(lines["store_id"].nunique()) * scale,
    )


def _decimals(cents: pd.Series) -> Sequence[str]:
    return [f"{'-' if c < 0 else ''}{abs(c) // 100}.{abs(c) % 100:02d}" for c in cents.tolist()]


def slices_by_partition(lines: pd.DataFrame) -> dict[tuple[pd.Timestamp, str], slice]:
    """Where each (day, region) lies in the ordered lines; one without lines is not there."""
    if lines.empty:
        return {}
    days, regions = lines["day"].to_numpy(), lines["region"].to_numpy()
    is_new = np.append(True, (days[1:] != days[:-1]) | (regions[1:] != regions[:-1]))
    starts = np.flatnonzero(is_new).tolist()
    stops = [*starts[1:], len(lines)]
    return {
        (pd.Timestamp(days[start]), str(regions[start])): slice(start, stop)
        for start, stop in zip(starts, stops, strict=True)
    }
