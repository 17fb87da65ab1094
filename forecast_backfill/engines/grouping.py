"""Groups lines by store and product, in the order of the output rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from forecast_backfill.arrow_arrays import numbers_of
from forecast_backfill.engines.validate import Lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouping:
    """Groups sorted by (store_id, product_id).

    `order` sorts the grouped lines by group; in that order `starts` is where each group begins and
    `member` which group each line belongs to. `store` and `product` are each group's codes.
    """

    order: np.ndarray
    starts: np.ndarray
    member: np.ndarray
    store: np.ndarray
    product: np.ndarray

    @property
    def count(self) -> int:
        """How many groups there are."""
        return len(self.starts)


def group_lines(lines: Lines, kept: np.ndarray) -> Grouping:
    """Group those lines whose positions are in `kept`."""
    store, product = lines.store[kept], lines.product[kept]
    key = _ranks(lines.stores)[store] * max(1, len(lines.products))
    key += _ranks(lines.products)[product]
    order = np.argsort(key, kind="stable")
    key = key[order]
    is_first = np.ones(len(key), dtype=bool)
    is_first[1:] = key[1:] != key[:-1]
    starts = np.flatnonzero(is_first)
    firsts = order[starts]
    return Grouping(
        order=order,
        starts=starts,
        member=np.cumsum(is_first) - 1,
        store=store[firsts],
        product=product[firsts],
    )


def _ranks(codes: pa.Array) -> np.ndarray:
    """The place of each code in the order of its UTF-8 bytes."""
    ranks = np.empty(len(codes), dtype=np.int64)
    ranks[numbers_of(pc.array_sort_indices(codes), np.uint64)] = np.arange(len(codes))
    return ranks
