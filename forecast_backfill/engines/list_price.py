"""The regular price of each group: the most frequent one over its lines, the highest on a tie."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from forecast_backfill.arrow_arrays import integers
from forecast_backfill.engines.grouping import Grouping


def list_prices(regular: np.ndarray, quantity: np.ndarray, groups: Grouping) -> pa.Array:
    """Cents a piece for each group, missing where no line's amount divides by its quantity.

    `regular` is what each line cost before discounts, in cents; both arrays are in group order.
    """
    price = regular // quantity
    is_exact = price * quantity == regular
    prices = np.zeros(groups.count, dtype=np.int64)
    if groups.count == len(regular):
        return integers(price, ~is_exact)
    member, price = groups.member[is_exact], price[is_exact]
    by_price = np.lexsort((price, member))
    member, price = member[by_price], price[by_price]
    is_first = np.ones(len(member), dtype=bool)
    is_first[1:] = (member[1:] != member[:-1]) | (price[1:] != price[:-1])
    starts = np.flatnonzero(is_first)
    times = np.diff(starts, append=len(member))
    member, price = member[starts], price[starts]
    best = np.lexsort((price, times, member))
    # Assigned in ascending order, so the last of each group stays.
    prices[member[best]] = price[best]
    is_missing = np.ones(groups.count, dtype=bool)
    is_missing[member] = False
    return integers(prices, is_missing)
