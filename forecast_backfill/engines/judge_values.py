"""The exact judgement of values, line by line: what is wrong, where, and why."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date as Date

import pyarrow as pa

from forecast_backfill.core.partition import Partition
from forecast_backfill.core.source import LINE_COLUMNS, Fault, FaultCode, FaultCollector
from forecast_backfill.engines.raw_lines import RawLines

_INTEGER = re.compile(r"[+-]?[0-9]+")
_MONEY = re.compile(r"([+-]?)([0-9]+)(?:\.([0-9]{1,2}))?")
_COMMA = re.compile(r"[+-]?[0-9][0-9.,'\u00a0\u202f ]*[,'\u00a0\u202f ][0-9.,]*[0-9]")
_INSTANT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ](?:[01][0-9]|2[0-3]):[0-5][0-9]"
    r"(?::[0-5][0-9](?:\.[0-9]{1,9})?)?(Z|[+-](?:[01][0-9]|2[0-3]):?[0-5][0-9])?"
)
_NUMBERS = ("quantity", "sales_value", "retail_discount", "coupon_discount")
_LOWEST, _HIGHEST = -(2**63), 2**63 - 1
_Found = tuple[FaultCode, str, str, str]
"""A code, a column, the value and the reason."""


def judge_values(
    raw: RawLines, partition: Partition, region_of_store: pa.Table, faults: FaultCollector
) -> list[list[int]] | None:
    """The four numbers of every line (money in cents); None where a fault was added."""
    regions = dict(
        zip(
            region_of_store.column("store_id").to_pylist(),
            region_of_store.column("region").to_pylist(),
            strict=True,
        )
    )
    columns = [raw.columns[name].to_pylist() for name in LINE_COLUMNS]
    numbers: list[list[int]] = [[] for _ in _NUMBERS]
    first_seen: dict[str, int] = {}
    good = True
    for record, cells in enumerate(zip(*columns, strict=True)):
        values = dict(zip(LINE_COLUMNS, cells, strict=True))
        line = raw.line_of(record)
        found = list(_judge_line(values, partition, regions, first_seen, line, numbers))
        good = good and not found
        for code, column, value, reason in found:
            faults.add(
                Fault(
                    code=code, file=raw.file, line=line, column=column, value=value, reason=reason
                )
            )
    return numbers if good else None


def _judge_line(
    values: dict[str, str],
    partition: Partition,
    regions: dict[str, str],
    first_seen: dict[str, int],
    line: int,
    numbers: list[list[int]],
) -> Iterator[_Found]:
    if sorted(value.removeprefix("\ufeff") for value in values.values()) == sorted(LINE_COLUMNS):
        head = values["line_id"]
        yield FaultCode.HEADER_REPEATED, "line_id", head, "the header stands here again"
        return
    present = [name for name, value in values.items() if value.strip()]
    for name, value in values.items():
        if not value:
            yield FaultCode.VALUE_MISSING, name, value, f"{name} is empty; a value is due"
        elif name not in present:
            yield FaultCode.VALUE_BLANK, name, value, f"{name} holds only blanks; a value is due"
    for name in present:
        value = values[name]
        if name == "line_id":
            yield from _judge_line_id(value, first_seen, line)
        elif name == "store_id":
            yield from _judge_store(value, partition, regions)
        elif name == "sold_at":
            yield from _judge_instant(value, partition.date)
        elif name in _NUMBERS:
            number = _integer(value) if name == "quantity" else _cents(value)
            if isinstance(number, int):
                numbers[_NUMBERS.index(name)].append(number)
            else:
                code, reason = number
                yield code, name, value, f"{name} {reason}"


def _judge_line_id(value: str, first_seen: dict[str, int], line: int) -> Iterator[_Found]:
    first = first_seen.setdefault(value, line)
    if first != line:
        reason = f"line_id {value[:40]!r} stands already on line {first}"
        yield FaultCode.LINE_DUPLICATED, "line_id", value, reason


def _judge_store(value: str, partition: Partition, regions: dict[str, str]) -> Iterator[_Found]:
    region = regions.get(value)
    if region is None:
        reason = f"the store {value[:40]!r} belongs to no region"
        yield FaultCode.STORE_UNKNOWN, "store_id", value, reason
    elif region != partition.region:
        reason = f"the store {value[:40]!r} belongs to {region}, not to {partition.region}"
        yield FaultCode.REGION_FOREIGN, "store_id", value, reason


def _judge_instant(value: str, due: Date) -> Iterator[_Found]:
    match = _INSTANT.fullmatch(value)
    written = match and _date(match[1])
    if match is None or written is None:
        reason = "sold_at is not an instant as in 2026-11-01T09:30:00-05:00"
        yield FaultCode.TIMESTAMP_MALFORMED, "sold_at", value, reason
    elif match[2] is None:
        reason = "sold_at carries no offset from UTC"
        yield FaultCode.TIMESTAMP_MALFORMED, "sold_at", value, reason
    elif written != due:
        reason = f"the local date {written} is not the partition's {due}"
        yield FaultCode.DATE_OUTSIDE, "sold_at", value, reason


def _date(text: str) -> Date | None:
    try:
        return Date.fromisoformat(text)
    except ValueError:
        return None


def _integer(value: str) -> int | tuple[FaultCode, str]:
    if not _INTEGER.fullmatch(value):
        return FaultCode.INTEGER_MALFORMED, "is not an integer in plain digits"
    # int() refuses thousands of digits; whatever has more than 19 is out of range anyhow.
    number = int(value) if len(value.lstrip("+-").lstrip("0")) <= 19 else _HIGHEST + 1
    if not _LOWEST <= number <= _HIGHEST:
        return FaultCode.INTEGER_OUT_OF_RANGE, "does not fit into 64 bits"
    return number


def _cents(value: str) -> int | tuple[FaultCode, str]:
    match = _MONEY.fullmatch(value)
    if match is None:
        # The length bound keeps the pattern's backtracking harmless.
        if len(value) <= 40 and _COMMA.fullmatch(value):
            reason = "has a decimal comma or thousands separators; a plain decimal dot is due"
            return FaultCode.DECIMAL_COMMA, reason
        return FaultCode.DECIMAL_MALFORMED, "is not a decimal with at most two places"
    sign, whole, places = match.groups()
    digits = whole.lstrip("0") + (places or "").ljust(2, "0")
    cents = int(sign + digits) if len(digits) <= 19 else _HIGHEST + 1
    if not _LOWEST <= cents <= _HIGHEST:
        return FaultCode.DECIMAL_OUT_OF_RANGE, "in cents does not fit into 64 bits"
    return cents
