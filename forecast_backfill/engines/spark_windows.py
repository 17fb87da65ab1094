"""A window of `daily_demand`, read by executors: a range of dates each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date as Date
from datetime import timedelta
from itertools import pairwise

import pyarrow as pa

from forecast_backfill.core.errors import ForecastBackfillError
from forecast_backfill.core.partition import DateRange, Partition
from forecast_backfill.engines.spark_reports import decode, encode
from forecast_backfill.engines.spark_watch import Group, run_watched, struct_of
from forecast_backfill.ports.night_values import WindowUnits

UNITS_A_BATCH = 500
"""Partitions that travel at a time."""

_TEXTS = ("kind", "report", "date", "region", "data_version")
_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in _TEXTS),
        ("groups", pa.list_(pa.string())),
        ("units", pa.list_(pa.int64())),
    ]
)

ReadUnits = Callable[[DateRange], Sequence[WindowUnits]]
"""Reads a part of a window where it runs; picklable and importable there."""


def split(window: DateRange, count: int) -> tuple[DateRange, ...]:
    """The window in at most so many ranges of as many dates each, as near as may be."""
    days = (window.end - window.start).days
    count = max(1, min(count, days))
    edges = [window.start + timedelta(days=days * place // count) for place in range(count + 1)]
    return tuple(DateRange(start=start, end=end) for start, end in pairwise(edges))


def read_window(
    group: Group, ranges: Sequence[DateRange], read: ReadUnits, look: Callable[[], None]
) -> tuple[WindowUnits, ...]:
    """The partitions of all ranges, sorted; a task for each range.

    Raises what `read` does, and what `look`, asked meanwhile, does.
    """
    count = len(ranges)
    frame = group.session.range(0, count, 1, count)
    frame = frame.mapInArrow(_reading(tuple(ranges), read), struct_of(_SCHEMA))
    found = run_watched(group, frame.collect, look)
    for row in found:
        if row["kind"] is not None:
            error = decode(row["kind"], row["report"])
            assert isinstance(error, ForecastBackfillError)
            raise error
    units = (
        WindowUnits(
            partition=Partition(date=Date.fromisoformat(row["date"]), region=row["region"]),
            data_version=row["data_version"],
            units=dict(zip(row["groups"], row["units"], strict=True)),
        )
        for row in found
    )
    return tuple(sorted(units, key=lambda each: each.partition))


def _reading(
    ranges: tuple[DateRange, ...], read: ReadUnits
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for place in batch.column(0).to_pylist():
                try:
                    found = read(ranges[place])
                except ForecastBackfillError as error:
                    kind, text = encode(error)
                    yield _batch([{"kind": kind, "report": text}])
                    return
                for start in range(0, len(found), UNITS_A_BATCH):
                    yield _batch([_told(each) for each in found[start : start + UNITS_A_BATCH]])

    return run


def _told(units: WindowUnits) -> dict[str, object]:
    return {
        "date": units.partition.date.isoformat(),
        "region": units.partition.region,
        "data_version": units.data_version,
        "groups": list(units.units),
        "units": list(units.units.values()),
    }


def _batch(rows: Sequence[dict[str, object]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(list(rows), schema=_SCHEMA)
