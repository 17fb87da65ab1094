"""Whether each store-product was on display and in the mailer that day."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from forecast_backfill.engines.dimension_tables import PartitionDimensions
from forecast_backfill.engines.grouping import Grouping
from forecast_backfill.engines.validate import Lines


def promotion_flags(
    lines: Lines, groups: Grouping, dimensions: PartitionDimensions
) -> tuple[pa.Array, pa.Array]:
    """The flags of each group: missing where its store has no promotion facts at all.

    A store with facts that do not list the product did not promote it.
    """
    stores = pa.array(lines.stores, pa.string())
    has_facts = pc.is_in(stores, value_set=dimensions.promotion_stores).to_numpy(
        zero_copy_only=False
    )
    is_missing = ~has_facts[groups.store]
    display = np.zeros(groups.count, dtype=bool)
    mailer = np.zeros(groups.count, dtype=bool)
    if not is_missing.all():
        facts = dimensions.promotions
        facts = facts.filter(pc.is_in(facts.column("store_id"), value_set=stores))
        products = pa.array(lines.products, pa.string())
        facts = facts.filter(pc.is_in(facts.column("product_id"), value_set=products))
        place = _places(facts, stores, products, groups)
        for flags, name in ((display, "on_display"), (mailer, "on_mailer")):
            is_on = pc.fill_null(facts.column(name), False).to_numpy()
            flags[place[is_on & (place >= 0)]] = True
    return pa.array(display, mask=is_missing), pa.array(mailer, mask=is_missing)


def _places(facts: pa.Table, stores: pa.Array, products: pa.Array, groups: Grouping) -> np.ndarray:
    """The group of each fact, -1 where nothing was sold."""
    width = max(1, len(products))
    keys = groups.store.astype(np.int64) * width + groups.product
    fact_store = pc.index_in(facts.column("store_id"), value_set=stores).to_numpy()
    fact_product = pc.index_in(facts.column("product_id"), value_set=products).to_numpy()
    fact_keys = fact_store.astype(np.int64) * width + fact_product
    by_key = np.argsort(keys)
    at = np.searchsorted(keys, fact_keys, sorter=by_key)
    found = by_key[np.minimum(at, len(keys) - 1)]
    return np.where(keys[found] == fact_keys, found, -1)
