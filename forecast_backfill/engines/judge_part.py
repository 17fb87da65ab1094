"""The judgement of one landed file: what can be said of it without the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forecast_backfill.core.partition import Partition
from forecast_backfill.core.source import Fault, FaultCode, FaultCollector
from forecast_backfill.engines.csv_text import read_csv_text
from forecast_backfill.engines.dimension_tables import PartitionDimensions
from forecast_backfill.engines.parquet_file import read_parquet_file
from forecast_backfill.engines.raw_lines import RawLines
from forecast_backfill.engines.unpack import unpack
from forecast_backfill.engines.validate import Lines, validate
from forecast_backfill.ports import LandedFile


@dataclass(frozen=True, slots=True, kw_only=True)
class PartSums:
    """What a good file adds to the whole: money in cents, `stores` each once.

    `moved_units` and `moved_cents` sum up what the numbers are without their signs.
    """

    units: int
    revenue_cents: int
    moved_units: int
    moved_cents: int
    stores: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartReport:
    """What the judgement of a delivery has to know of one of its files.

    `reading` are the faults of its structure, `values` those of its values; `count`, `multiline`
    and `open_line` are those of RawLines. `sums` is None where a value is bad.
    """

    file: str
    is_read: bool
    reading: FaultCollector
    values: FaultCollector
    count: int = 0
    multiline: tuple[int, ...] = ()
    open_line: int | None = None
    sums: PartSums | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPart:
    """A judged file: None where it could not be read, or where a value is bad."""

    report: PartReport
    raw: RawLines | None = None
    lines: Lines | None = None


def judge_part(
    file: LandedFile, partition: Partition, dimensions: PartitionDimensions
) -> JudgedPart:
    """Read the file and judge its lines; never raises for a bad file."""
    reading, values = FaultCollector(), FaultCollector()
    raw = _read(file, reading)
    if raw is None:
        report = PartReport(file=file.name, is_read=False, reading=reading, values=values)
        return JudgedPart(report=report)
    lines = validate(raw, partition, dimensions, values)
    report = PartReport(
        file=file.name,
        is_read=True,
        reading=reading,
        values=values,
        count=raw.count,
        multiline=tuple(raw.multiline),
        open_line=raw.open_line,
        sums=None if lines is None else _sums_of(lines),
    )
    return JudgedPart(report=report, raw=raw, lines=lines)


def _read(file: LandedFile, faults: FaultCollector) -> RawLines | None:
    if file.name.endswith(".parquet"):
        return read_parquet_file(file, faults)
    if not file.name.endswith((".csv", ".csv.gz")):
        reason = "a sales file is .csv, .csv.gz or .parquet"
        faults.add(Fault(code=FaultCode.FILE_UNREADABLE, file=file.name, reason=reason))
        return None
    text = unpack(file, faults)
    return None if text is None else read_csv_text(text, file.name, faults)


def _sums_of(lines: Lines) -> PartSums:
    # Good lines: none of these sums leaves 64 bits.
    money = (lines.sales, lines.retail, lines.coupon)
    return PartSums(
        units=int(lines.quantity.sum()),
        revenue_cents=int(lines.sales.sum()),
        moved_units=int(np.abs(lines.quantity).sum()),
        moved_cents=sum(int(np.abs(each).sum()) for each in money),
        stores=tuple(lines.stores.to_pylist()),
    )
