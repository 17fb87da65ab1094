"""An exact CSV scanner: legal quoting, physical line numbers, and a reason for every bad line."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from forecast_backfill.arrow_arrays import texts
from forecast_backfill.core.source import LINE_COLUMNS, Fault, FaultCode, FaultCollector
from forecast_backfill.engines.raw_lines import RawLines


def scan(text: str, names: Sequence[str], file: str, faults: FaultCollector) -> RawLines:
    """Every good record of the text below its header; the others become faults."""
    is_closed = text.endswith("\n")
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if is_closed:
        lines.pop()
    records: list[list[str]] = []
    physical: list[int] = []
    multiline: list[int] = []
    row = 1
    while row < len(lines):
        record = parse_record(lines, row)
        fault = _judge(record, lines, row, names, is_closed)
        if fault is not None or record is None:
            if fault is not None:
                code, reason = fault
                faults.add(
                    Fault(code=code, file=file, line=row + 1, value=lines[row], reason=reason)
                )
            row += 1
            continue
        fields, after = record
        if after > row + 1:
            multiline.append(row + 1)
        records.append(fields)
        physical.append(row + 1)
        row = after
    return RawLines(
        file=file,
        columns=_columns(records, names),
        physical=physical,
        multiline=multiline,
        open_line=None if is_closed else len(lines),
    )


def parse_record(lines: Sequence[str], row: int) -> tuple[list[str], int] | None:
    """The fields of the record that begins at `lines[row]`, and the row after it.

    None where a quote is opened and never closed, or stands where none may.
    """
    text = lines[row]
    if '"' not in text:
        return text.split(","), row + 1
    fields: list[str] = []
    position = 0
    while True:
        if text.startswith('"', position):
            quoted = _parse_quoted(lines, row, position + 1)
            if quoted is None:
                return None
            field, row, position = quoted
            text = lines[row]
            if position < len(text) and text[position] != ",":
                return None
        else:
            end = text.find(",", position)
            end = len(text) if end < 0 else end
            field, position = text[position:end], end
            if '"' in field:
                return None
        fields.append(field)
        if position >= len(text):
            return fields, row + 1
        position += 1


def _parse_quoted(lines: Sequence[str], row: int, position: int) -> tuple[str, int, int] | None:
    parts: list[str] = []
    while True:
        end = lines[row].find('"', position)
        if end < 0:
            parts.append(lines[row][position:] + "\n")
            row, position = row + 1, 0
            if row >= len(lines):
                return None
            continue
        parts.append(lines[row][position:end])
        if not lines[row].startswith('""', end):
            return "".join(parts), row, end + 1
        parts.append('"')
        position = end + 2


def _judge(
    record: tuple[list[str], int] | None,
    lines: Sequence[str],
    row: int,
    names: Sequence[str],
    is_closed: bool,
) -> tuple[FaultCode, str] | None:
    if record is None:
        return FaultCode.QUOTE_STRAY, "a quote opens here that is not closed as CSV closes it"
    fields, after = record
    if len(fields) != len(names):
        if after > row + 1:
            return FaultCode.QUOTE_STRAY, f"a quote here swallows the lines up to {after}"
        if after == len(lines) and not is_closed and len(fields) < len(names):
            due = f"{len(fields)} of {len(names)} fields and no line break"
            return FaultCode.LAST_LINE_CUT, f"the last line is cut: {due}"
        return FaultCode.FIELD_COUNT, _count_reason(fields, names, lines[row])
    if sorted(field.removeprefix("\ufeff") for field in fields) == sorted(names):
        return FaultCode.HEADER_REPEATED, "the header stands here again, inside the file"
    if any("\r" in field for field in fields):
        return FaultCode.FIELD_COUNT, "a carriage return without a line feed inside the line"
    return None


def _count_reason(fields: Sequence[str], names: Sequence[str], line: str) -> str:
    if not line.strip():
        return "a blank line"
    reason = f"{len(fields)} fields where {len(names)} are due"
    if len(fields) > len(names):
        cause = "a trailing delimiter" if not fields[-1] else "a decimal comma or an unquoted one"
        return f"{reason} ({cause}?)"
    return reason


def _columns(records: Sequence[Sequence[str]], names: Sequence[str]) -> dict[str, pa.Array]:
    if not records:
        return {name: texts([]) for name in LINE_COLUMNS}
    by_name = dict(zip(names, zip(*records, strict=True), strict=True))
    return {name: texts(by_name[name]) for name in LINE_COLUMNS}
