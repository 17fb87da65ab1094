"""The fingerprint of a Spark table, equal to core/fingerprint.py's: the third reading of it.

Written with Spark's own functions, apart from the Arrow and the PostgreSQL one: what a target holds
is then read back by other code than what wrote it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forecast_backfill.core.fingerprint import CHECKSUM_COLUMNS, Fingerprint

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# The exact sum of 60-bit numbers: 38 digits hold more rows than there are.
_EXACT = "decimal(38,0)"


def spark_row_hash(rows: DataFrame) -> Column:
    """The row hash of every row; `rows` has the columns of CHECKSUM_COLUMNS."""
    from pyspark.sql import functions as sf

    kinds = dict(rows.dtypes)
    text = sf.concat(*(_canonical(sf.col(name), kinds[name]) for name in CHECKSUM_COLUMNS))
    digits = sf.substring(sf.md5(text.cast("binary")), 1, 15)
    return sf.conv(digits, 16, 10).cast(_EXACT)


def spark_fingerprint(rows: DataFrame) -> Fingerprint:
    """The fingerprint of the rows, summed exactly by Spark."""
    from pyspark.sql import functions as sf

    totals = {
        "rows": sf.count(sf.lit(1)),
        "checksum": sf.sum("row_hash"),
        "units": sf.sum(sf.col("units").cast(_EXACT)),
        "revenue_cents": sf.sum(sf.col("revenue_cents").cast(_EXACT)),
        "stores": sf.count_distinct("store_id"),
        "products": sf.count_distinct("product_id"),
    }
    hashed = rows.withColumn("row_hash", spark_row_hash(rows))
    (found,) = hashed.agg(*(total.alias(name) for name, total in totals.items())).collect()
    return Fingerprint(**{name: int(found[name] or 0) for name in totals})


def _canonical(value: Column, kind: str) -> Column:
    """The value as canonical_text writes it: its text after its length, a missing one as `-`."""
    from pyspark.sql import functions as sf

    # A date as text is ISO 8601 here, and a boolean is 1 or 0.
    text = value.cast("int").cast("string") if kind == "boolean" else value.cast("string")
    encoded = sf.concat(sf.char_length(text).cast("string"), sf.lit(":"), text)
    return sf.coalesce(encoded, sf.lit("-"))
