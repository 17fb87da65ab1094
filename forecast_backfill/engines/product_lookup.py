"""Finds products in the product dimension, which is indexed once and then kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from forecast_backfill.arrow_arrays import integers, numbers_of, one_chunk

_UNMATCHED = "unmatched_product"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductIndex:
    """A product table with the place of each product in it; `names` are the exclusion rules."""

    table: pa.Table
    places: dict[str, int]
    names: list[str]
    rule: np.ndarray
    group: pa.Array


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundProducts:
    """The products of one source: `place` is -1 where the dimension does not know the product."""

    index: ProductIndex
    place: np.ndarray

    def rule_of(self, codes: np.ndarray) -> list[tuple[str, np.ndarray]]:
        """Each product rule that leaves lines out, by name, with the mask of those lines."""
        names = [*self.index.names, _UNMATCHED]
        rule = np.append(self.index.rule, len(names) - 1)[self.place][codes]
        found = np.unique(rule).tolist()
        return sorted((names[each], rule == each) for each in found if names[each])

    def group_of(self, codes: np.ndarray) -> pa.Array:
        """The demand group of each of the products, all of which are known."""
        return self.index.group.take(integers(self.place[codes]))


_kept: list[ProductIndex] = []
"""The index of the last product table seen: a run sees the same table for all its partitions."""


def lookup_products(table: pa.Table, products: list[str]) -> FoundProducts:
    """Find the products; the first of a product that stands twice in the dimension counts."""
    # Taken out once: another thread may replace it meanwhile.
    kept = next(iter(_kept), None)
    index = kept if kept is not None and kept.table is table else _remember(table)
    places = index.places
    place = np.fromiter((places.get(each, -1) for each in products), np.int64, len(products))
    return FoundProducts(index=index, place=place)


def _remember(table: pa.Table) -> ProductIndex:
    ids = table.column("product_id").to_pylist()
    places = dict(zip(reversed(ids), range(len(ids) - 1, -1, -1), strict=True))
    rules = one_chunk(table.column("exclusion")).dictionary_encode()
    group = one_chunk(table.column("demand_group")).cast(pa.string())
    index = ProductIndex(
        table=table,
        places=places,
        names=rules.dictionary.to_pylist(),
        rule=numbers_of(rules.indices, np.int32).astype(np.int64),
        group=group,
    )
    _kept[:] = [index]
    return index
