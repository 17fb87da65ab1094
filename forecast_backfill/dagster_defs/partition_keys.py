"""Dagster's partition keys `YYYY-MM-DD|Rnn`: the only place where they are built and read."""

from __future__ import annotations

from datetime import date as Date

from forecast_backfill.core.partition import Partition

SEPARATOR = "|"
DATE_DIMENSION = "date"
REGION_DIMENSION = "region"
"""Dagster orders dimensions by name: the date comes first in a key because `d` comes before `r`."""


def format_key(partition: Partition) -> str:
    """The key under which Dagster knows the partition."""
    return f"{partition.date.isoformat()}{SEPARATOR}{partition.region}"


def parse_key(key: str) -> Partition:
    """The partition of a key.

    Raises ValueError where the key is not `YYYY-MM-DD|region`.
    """
    day, separator, region = key.partition(SEPARATOR)
    if not separator or not region or SEPARATOR in region:
        raise ValueError(f"the partition key {key!r} is not YYYY-MM-DD{SEPARATOR}region")
    try:
        return Partition(date=Date.fromisoformat(day), region=region)
    except ValueError as error:
        raise ValueError(f"the partition key {key!r} does not begin with a date") from error
