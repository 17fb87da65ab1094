"""From good lines to the rows of `daily_demand`: a pure function of lines and dimensions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from forecast_backfill.arrow_arrays import integers, numbers_of
from forecast_backfill.core.parity import Exclusion
from forecast_backfill.engines.dimension_tables import PartitionDimensions
from forecast_backfill.engines.grouping import Grouping, group_lines
from forecast_backfill.engines.list_price import list_prices
from forecast_backfill.engines.product_lookup import lookup_products
from forecast_backfill.engines.promotion_flags import promotion_flags
from forecast_backfill.engines.validate import Lines

UNMATCHED_PRODUCT = "unmatched_product"
NO_QUANTITY = "no_quantity"


def transform(
    lines: Lines, dimensions: PartitionDimensions
) -> tuple[pa.Table, Mapping[str, Exclusion]]:
    """The rows sorted by (store_id, product_id), without row_hash, and what each rule left out.

    The rules in their order: a product that no dimension knows (`unmatched_product`), the
    product's own exclusion, a quantity that is not positive (`no_quantity`); the first counts.
    """
    products = lookup_products(dimensions.products, lines.products.to_pylist())
    is_counted, exclusions = _exclude(lines, products.rule_of(lines.product))
    kept = np.flatnonzero(is_counted)
    groups = group_lines(lines, kept)
    by_group = kept[groups.order]
    quantity, sales = lines.quantity[by_group], lines.sales[by_group]
    discount = lines.retail[by_group] + lines.coupon[by_group]
    display, mailer = promotion_flags(lines, groups, dimensions)
    rows = pa.table(
        {
            "store_id": lines.stores.take(integers(groups.store)),
            "product_id": lines.products.take(integers(groups.product)),
            "demand_group": products.group_of(groups.product),
            "units": integers(_sums(quantity, groups)),
            "revenue_cents": integers(_sums(sales, groups)),
            "discount_cents": integers(_sums(discount, groups)),
            "baskets": integers(_baskets(lines.basket, by_group, groups)),
            "list_price_cents": list_prices(sales + discount, quantity, groups),
            "on_display": display,
            "on_mailer": mailer,
        }
    )
    return rows, exclusions


def _exclude(lines: Lines, rules: list[tuple[str, np.ndarray]]) -> tuple[np.ndarray, dict]:
    """Which lines count, and what each rule left out; `rules` are disjoint masks of lines."""
    is_counted = np.ones(lines.count, dtype=bool)
    exclusions: dict[str, Exclusion] = {}
    for name, mask in rules:
        is_counted &= ~mask
        exclusions[name] = _left_out(lines, mask)
    is_void = is_counted & (lines.quantity <= 0)
    if is_void.any():
        is_counted &= ~is_void
        exclusions[NO_QUANTITY] = _left_out(lines, is_void)
    return is_counted, exclusions


def _left_out(lines: Lines, mask: np.ndarray) -> Exclusion:
    return Exclusion(
        lines=int(mask.sum()),
        units=int(lines.quantity[mask].sum()),
        revenue_cents=int(lines.sales[mask].sum()),
    )


def _sums(values: np.ndarray, groups: Grouping) -> np.ndarray:
    if not groups.count:
        return np.zeros(0, dtype=np.int64)
    return np.add.reduceat(values, groups.starts)


def _baskets(basket: pa.Array, by_group: np.ndarray, groups: Grouping) -> np.ndarray:
    """How many distinct baskets each group has."""
    if groups.count == len(by_group):
        return np.ones(groups.count, dtype=np.int64)
    codes = basket.dictionary_encode()
    pairs = groups.member.astype(np.int64) * len(codes.dictionary)
    pairs += numbers_of(codes.indices, np.int32)[by_group]
    distinct = np.unique(pairs) // len(codes.dictionary)
    return np.bincount(distinct, minlength=groups.count).astype(np.int64)
