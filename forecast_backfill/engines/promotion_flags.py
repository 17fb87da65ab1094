"""Whether each store-product was on display and in the mailer that day."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from forecast_backfill.arrow_arrays import booleans, numbers_of, one_chunk, truths_of
from forecast_backfill.engines.dimension_tables import PartitionDimensions
from forecast_backfill.engines.grouping import Grouping
from forecast_backfill.engines.validate import Lines

_TRUE = booleans(np.ones(1, dtype=bool))


def promotion_flags(
    lines: Lines, groups: Grouping, dimensions: PartitionDimensions
) -> tuple[pa.Array, pa.Array]:
    """The flags of each group: missing where its store has no promotion facts at all.

    A store with facts that do not list the product did not promote it.
    """
    stores = lines.stores
    has_facts = truths_of(pc.is_in(stores, value_set=dimensions.promotion_stores))
    is_missing = ~has_facts[groups.store]
    display = np.zeros(groups.count, dtype=bool)
    mailer = np.zeros(groups.count, dtype=bool)
    if not is_missing.all():
        facts = dimensions.promotions
        facts = facts.filter(pc.is_in(facts.column("store_id"), value_set=stores))
        products = lines.products
        facts = facts.filter(pc.is_in(facts.column("product_id"), value_set=products))
        place = _places(facts, stores, products, groups)
        for flags, name in ((display, "on_display"), (mailer, "on_mailer")):
            is_on = truths_of(pc.is_in(one_chunk(facts.column(name)), value_set=_TRUE))
            flags[place[is_on & (place >= 0)]] = True
    return booleans(display, is_missing), booleans(mailer, is_missing)


def _places(facts: pa.Table, stores: pa.Array, products: pa.Array, groups: Grouping) -> np.ndarray:
    """The group of each fact, -1 where nothing was sold."""
    width = max(1, len(products))
    keys = groups.store.astype(np.int64) * width + groups.product
    fact_store = _codes(facts.column("store_id"), stores)
    fact_product = _codes(facts.column("product_id"), products)
    fact_keys = fact_store * width + fact_product
    by_key = np.argsort(keys)
    at = np.searchsorted(keys, fact_keys, sorter=by_key)
    found = by_key[np.minimum(at, len(keys) - 1)]
    return np.where(keys[found] == fact_keys, found, -1)


def _codes(column: pa.ChunkedArray, codes: pa.Array) -> np.ndarray:
    return numbers_of(pc.index_in(one_chunk(column), value_set=codes), np.int32).astype(np.int64)
