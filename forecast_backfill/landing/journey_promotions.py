"""The weekly promotion facts: one file a (week, region), without duplicate keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, time, timedelta
from datetime import date as Date
from io import BytesIO
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from forecast_backfill.landing.dimensions import PROMOTION_SCHEMA
from forecast_backfill.landing.journey_regions import copy_name
from forecast_backfill.landing.layout import PROMOTION_RECORDED

WEEK_ONE = Date(2016, 12, 26)
"""The Monday of the data's week 1, whose only day with data is the Sunday."""

RECORDED_BEFORE = timedelta(days=15)
"""So a forecast of 14 days knows the promotions of all its weeks."""

RECORDED_TYPE = pa.timestamp("us", "UTC")
NOT_PROMOTED = "0"
BATCH_ROWS = 1 << 20


def week_number(day: Date) -> int:
    """The data's week in which the data's day lies."""
    return (day - WEEK_ONE).days // 7 + 1


def week_monday(week: int) -> Date:
    """The Monday of the data's week."""
    return WEEK_ONE + timedelta(weeks=week - 1)


def recorded_at(monday: Date) -> datetime:
    """When the promotions of the week count as decided: noon, UTC; no clock is read."""
    return datetime.combine(monday - RECORDED_BEFORE, time(12, tzinfo=UTC))


def read_weeks(path: Path, weeks: range) -> Iterator[tuple[int, pa.Table]]:
    """Each of the weeks, with its facts: store_id, product_id, on_display, on_mailer, unique keys.

    The file is one row group of 21 million rows in the order of weeks: it is read in batches and
    given out week by week, so that memory stays small.
    """
    parts: dict[int, list[pa.Table]] = {week: [] for week in weeks}
    for batch in pq.ParquetFile(path).iter_batches(BATCH_ROWS):
        numbers = batch["week"].to_numpy()
        earliest, latest = int(numbers.min()), int(numbers.max())
        for week in [week for week in sorted(parts) if earliest <= week <= latest]:
            part = pa.Table.from_batches([batch]).filter(pa.array(numbers == week))
            parts[week].append(_flags(part))
        for week in [week for week in sorted(parts) if week < latest]:
            yield week, _unique(parts.pop(week))
    for week in sorted(parts):
        yield week, _unique(parts.pop(week))


def _flags(facts: pa.Table) -> pa.Table:
    return pa.table(
        {
            "store_id": facts["store_id"],
            "product_id": facts["product_id"],
            "on_display": pc.not_equal(facts["display_location"], NOT_PROMOTED),
            "on_mailer": pc.not_equal(facts["mailer_location"], NOT_PROMOTED),
        }
    )


def _unique(parts: list[pa.Table]) -> pa.Table:
    """One row a (store, product), a flag set where any of its rows sets it, sorted by key."""
    if not parts:
        return PROMOTION_SCHEMA.empty_table()
    facts = pa.concat_tables(parts)
    columns = {name: facts[name].to_numpy() for name in facts.column_names}
    order = np.lexsort((columns["product_id"], columns["store_id"]))
    sorted_ = {name: values[order] for name, values in columns.items()}
    stores, products = sorted_["store_id"], sorted_["product_id"]
    is_new = np.append(True, (stores[1:] != stores[:-1]) | (products[1:] != products[:-1]))
    starts = np.flatnonzero(is_new)
    return pa.table(
        {
            "store_id": stores[starts],
            "product_id": products[starts],
            "on_display": np.logical_or.reduceat(sorted_["on_display"], starts),
            "on_mailer": np.logical_or.reduceat(sorted_["on_mailer"], starts),
        }
    )


def promotion_files(
    facts: pa.Table, monday: Date, stores: Mapping[int, str], regions: Sequence[str], scale: int
) -> Iterator[tuple[str, bytes]]:
    """The week's file of every region, with the facts of every copy of its stores.

    `monday` is the landed week's.
    """
    numbers = facts["store_id"].to_numpy() if len(facts) else np.array([], dtype="int64")
    present = np.unique(numbers)
    for region in regions:
        own = [store for store in present.tolist() if stores.get(store) == region]
        parts = [_of_store(facts, numbers, store, scale) for store in own]
        table = pa.concat_tables(parts) if parts else PROMOTION_SCHEMA.empty_table()
        recorded = pa.repeat(pa.scalar(recorded_at(monday), RECORDED_TYPE), len(table))
        table = table.append_column(PROMOTION_RECORDED, recorded)
        sink = BytesIO()
        pq.write_table(table.combine_chunks(), sink, compression="zstd")
        yield region, sink.getvalue()


def _of_store(facts: pa.Table, numbers: np.ndarray, store: int, scale: int) -> pa.Table:
    start, stop = np.searchsorted(numbers, [store, store + 1]).tolist()
    part = facts.slice(start, stop - start)
    names = [copy_name(store, copy) for copy in range(scale)]
    columns = {
        "store_id": pa.array(np.repeat(names, len(part)), pa.string()),
        "product_id": _repeat(part["product_id"].cast(pa.string()), scale),
        "on_display": _repeat(part["on_display"], scale),
        "on_mailer": _repeat(part["on_mailer"], scale),
    }
    return pa.table(columns, schema=PROMOTION_SCHEMA)


def _repeat(column: pa.ChunkedArray, times: int) -> pa.ChunkedArray:
    return pa.chunked_array(column.chunks * times, type=column.type)
