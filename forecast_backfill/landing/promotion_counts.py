"""Counts the promotion facts of one week by region and demand group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from datetime import date as Date
from io import BytesIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from forecast_backfill.core.dimension import Row
from forecast_backfill.landing.dimensions import PROMOTION_SCHEMA
from forecast_backfill.landing.layout import PROMOTION_RECORDED


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PromotionFacts:
    """The facts of one file, and when the last of them was recorded."""

    table: pa.Table
    recorded_at: datetime


def read_facts(content: bytes, week: Date) -> PromotionFacts:
    """The facts of a landed file; of one that does not say when, it is when the week begins."""
    table = pq.read_table(BytesIO(content))
    facts = table.select(PROMOTION_SCHEMA.names).cast(PROMOTION_SCHEMA)
    recorded_at = datetime.combine(week, time(0, tzinfo=UTC))
    if PROMOTION_RECORDED in table.column_names and len(table):
        recorded = table[PROMOTION_RECORDED].cast(pa.timestamp("us", "UTC"))
        if not recorded.null_count:
            recorded_at = pc.max(recorded).as_py()
    return PromotionFacts(table=facts, recorded_at=recorded_at)


def count_promotions(
    by_region: Mapping[str, PromotionFacts], *, week: Date, groups: Mapping[str, str]
) -> Sequence[Row]:
    """Rows of the dimension `promotion`, by region and demand group.

    `groups` has the demand group of every product; one that it lacks has none ('').
    """
    sizes = Counter(groups.values())
    stores = {region: len(pc.unique(f.table["store_id"])) for region, f in by_region.items()}
    return [
        (
            week,
            row["region"],
            row["group"],
            stores[row["region"]],
            sizes[row["group"]],
            row["count_all"],
            row["display_sum"],
            row["mailer_sum"],
            by_region[row["region"]].recorded_at,
        )
        for row in _count(by_region, groups).to_pylist()
    ]


def _count(by_region: Mapping[str, PromotionFacts], groups: Mapping[str, str]) -> pa.Table:
    tables = [
        facts.table.append_column("region", pa.repeat(region, len(facts.table)))
        for region, facts in by_region.items()
    ]
    facts = pa.concat_tables(tables)
    products = facts["product_id"].combine_chunks().dictionary_encode()
    names = [groups.get(each, "") for each in products.dictionary.to_pylist()]
    counted = pa.table(
        {
            "region": facts["region"],
            "group": pa.array(names, pa.string()).take(products.indices),
            "display": _ones(facts["on_display"]),
            "mailer": _ones(facts["on_mailer"]),
        }
    )
    sums = [("display", "sum"), ("mailer", "sum"), ([], "count_all")]
    keys = ["region", "group"]
    return counted.group_by(keys).aggregate(sums).sort_by([(key, "ascending") for key in keys])


def _ones(flags: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.fill_null(flags, False).cast(pa.int64())
