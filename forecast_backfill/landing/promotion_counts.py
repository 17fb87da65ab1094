"""Counts the promotion facts of one week and region by demand group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, time
from datetime import date as Date
from io import BytesIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from forecast_backfill.core.dimension import Row
from forecast_backfill.landing.dimensions import PROMOTION_SCHEMA
from forecast_backfill.landing.layout import PROMOTION_RECORDED


def count_promotions(
    content: bytes,
    *,
    week: Date,
    region: str,
    groups: Mapping[str, str],
    sizes: Mapping[str, int],
) -> Sequence[Row]:
    """Rows of the dimension `promotion`, by demand group; a product that is unknown has none ('').

    `groups` has the demand group of every product, `sizes` how many products a group has. Facts
    without a time of record count as known when the week begins.
    """
    table = pq.read_table(BytesIO(content))
    facts = table.select(PROMOTION_SCHEMA.names).cast(PROMOTION_SCHEMA)
    if not len(facts):
        return []
    recorded = _recorded_at(table, week)
    stores = len(pc.unique(facts["store_id"]))
    products = facts["product_id"].combine_chunks().dictionary_encode()
    names = pa.array([groups.get(each, "") for each in products.dictionary.to_pylist()])
    counted = pa.table(
        {
            "group": names.take(products.indices),
            "display": _ones(facts["on_display"]),
            "mailer": _ones(facts["on_mailer"]),
        }
    )
    sums = [("display", "sum"), ("mailer", "sum"), ([], "count_all")]
    by_group = counted.group_by("group").aggregate(sums).sort_by("group").to_pylist()
    return [
        (
            week,
            region,
            row["group"],
            stores,
            sizes.get(row["group"], 0),
            row["count_all"],
            row["display_sum"],
            row["mailer_sum"],
            recorded,
        )
        for row in by_group
    ]


def _ones(flags: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.fill_null(flags, False).cast(pa.int64())


def _recorded_at(table: pa.Table, week: Date) -> datetime:
    """When the last of the facts was recorded: of one that does not say, when the week begins."""
    begins = datetime.combine(week, time(0, tzinfo=UTC))
    if PROMOTION_RECORDED not in table.column_names:
        return begins
    recorded = table[PROMOTION_RECORDED].cast(pa.timestamp("us", "UTC"))
    return begins if recorded.null_count else pc.max(recorded).as_py()
