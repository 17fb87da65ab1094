"""Good lines as a table that travels between executors, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from forecast_backfill.arrow_arrays import integers, numbers_of, one_chunk
from forecast_backfill.engines.raw_lines import RawLines
from forecast_backfill.engines.validate import Lines

LINE_SCHEMA = pa.schema(
    [
        ("part", pa.int64()),
        ("line", pa.int64()),
        *((name, pa.string()) for name in ("line_id", "store_id", "product_id", "basket_id")),
        *((name, pa.int64()) for name in ("quantity", "sales", "retail", "coupon")),
    ]
)
"""`part` is the number of the file, `line` the physical line in it; money in cents."""

SHARD_LINES = 1_000_000
"""So many lines are transformed at a time, or all of one store where it has more."""


def line_table(part: int, raw: RawLines, lines: Lines) -> pa.Table:
    """The lines of one file."""
    count = lines.count
    physical = np.arange(2, count + 2) if raw.physical is None else np.array(raw.physical)
    columns = [
        integers(np.full(count, part)),
        integers(physical),
        raw.columns["line_id"],
        lines.stores.take(integers(lines.store)),
        lines.products.take(integers(lines.product)),
        lines.basket,
        *(integers(each) for each in (lines.quantity, lines.sales, lines.retail, lines.coupon)),
    ]
    return pa.Table.from_arrays(columns, schema=LINE_SCHEMA)


def lines_of(table: pa.Table) -> Lines:
    """The lines of a table."""
    store = one_chunk(table.column("store_id")).dictionary_encode()
    product = one_chunk(table.column("product_id")).dictionary_encode()
    numbers = {
        name: numbers_of(one_chunk(table.column(name)), np.int64)
        for name in ("quantity", "sales", "retail", "coupon")
    }
    return Lines(
        stores=store.dictionary,
        products=product.dictionary,
        store=numbers_of(store.indices, np.int32),
        product=numbers_of(product.indices, np.int32),
        basket=one_chunk(table.column("basket_id")),
        **numbers,
    )


def by_store(batches: Iterable[pa.RecordBatch], limit: int = SHARD_LINES) -> Iterator[pa.Table]:
    """Lines that come sorted by store, in tables of whole stores with at least `limit` lines."""
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        if count >= limit:
            store, stores = held[-1].column("store_id")[-1], batch.column("store_id")
            same = _leading(stores, store)
            held.append(batch.slice(0, same))
            if same == batch.num_rows:
                count += same
                continue
            yield pa.Table.from_batches(held)
            batch = batch.slice(same)
            held, count = [], 0
        held.append(batch)
        count += batch.num_rows
    if held:
        yield pa.Table.from_batches(held)


def _leading(stores: pa.Array, store: pa.Scalar) -> int:
    """How many of the sorted stores are still this one."""
    codes = stores.to_pylist()
    text = store.as_py()
    return next((place for place, code in enumerate(codes) if code != text), len(codes))
