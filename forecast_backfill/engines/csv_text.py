"""From CSV text to raw lines: by pyarrow where the structure is plain, else by an exact scanner."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.csv

from forecast_backfill.arrow_arrays import one_chunk, texts
from forecast_backfill.core.source import (
    LINE_COLUMNS,
    Fault,
    FaultCode,
    FaultCollector,
)
from forecast_backfill.engines.csv_scan import parse_record, scan
from forecast_backfill.engines.raw_lines import RawLines, judge_columns

_CONVERT = pyarrow.csv.ConvertOptions(
    check_utf8=False,
    column_types={name: pa.string() for name in LINE_COLUMNS},
    null_values=[],
    strings_can_be_null=False,
    quoted_strings_can_be_null=False,
)
# pyarrow reads a blank line as a line of empty values unless told to skip it; the number of lines
# then tells that one was skipped.
_PARSE = pyarrow.csv.ParseOptions(
    quote_char=False, double_quote=False, newlines_in_values=False, ignore_empty_lines=True
)


def read_csv_text(text: bytes, file: str, faults: FaultCollector) -> RawLines | None:
    """The lines of the text; None where the header is bad. Structural faults of lines are added."""
    head, _, _ = text.partition(b"\n")
    if not head.strip():
        reason = "the first line is blank; a header is due"
        faults.add(Fault(code=FaultCode.HEADER_MISSING, file=file, line=1, reason=reason))
        return None
    names = _header(head.decode(), file, faults)
    if names is None or not judge_columns(names, file, faults):
        return None
    has_lone_return = b"\r" in text and text.count(b"\r") != text.count(b"\r\n")
    if b'"' not in text and not has_lone_return:
        columns = _read_plain(text, len(head) + 1, names)
        if columns is not None:
            is_open = not text.endswith(b"\n")
            last = len(columns["line_id"]) + 1
            return RawLines(file=file, columns=columns, open_line=last if is_open else None)
    return scan(text.decode(), names, file, faults)


def _header(head: str, file: str, faults: FaultCollector) -> list[str] | None:
    record = parse_record([head.removesuffix("\r")], 0)
    if record is None:
        reason = "a stray quote in the header"
        faults.add(Fault(code=FaultCode.QUOTE_STRAY, file=file, line=1, value=head, reason=reason))
        return None
    return record[0]


def _read_plain(text: bytes, start: int, names: list[str]) -> dict[str, pa.Array] | None:
    """The columns where every line has the due number of cells; None where that is not so."""
    body = len(text) - start
    if body <= 0:
        return {name: texts([]) for name in LINE_COLUMNS}
    read = pyarrow.csv.ReadOptions(
        use_threads=False, block_size=len(text) + 1, column_names=names, skip_rows=1
    )
    try:
        table = pyarrow.csv.read_csv(
            pa.BufferReader(text), read_options=read, parse_options=_PARSE, convert_options=_CONVERT
        )
    except pa.ArrowInvalid:
        return None
    # Record i is on line i + 2 only if no line was skipped or joined.
    if table.num_rows != text.count(b"\n", start) + (not text.endswith(b"\n")):
        return None
    return {name: one_chunk(table.column(name)) for name in LINE_COLUMNS}
