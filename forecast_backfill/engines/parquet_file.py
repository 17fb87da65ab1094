"""From a landed Parquet file to raw lines, by the types of its columns."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from forecast_backfill.arrow_arrays import one_chunk, text
from forecast_backfill.core.source import LINE_COLUMNS, Fault, FaultCode, FaultCollector
from forecast_backfill.engines.raw_lines import RawLines, judge_columns
from forecast_backfill.ports import LandedFile

_DUE = {
    "sold_at": "text in ISO 8601 or an instant with a time zone",
    "quantity": "an integer",
    "sales_value": "a decimal",
    "retail_discount": "a decimal",
    "coupon_discount": "a decimal",
}


def read_parquet_file(file: LandedFile, faults: FaultCollector) -> RawLines | None:
    """The lines of the file, record i on line i + 2; None where a fault was added."""
    # Imported late: most sources are CSV, and the module takes its time to load.
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.ParquetFile(pa.BufferReader(file.content)).read(use_threads=False)
        table.validate(full=True)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = f"the file is not readable as Parquet: {str(error).splitlines()[0]}"
        faults.add(Fault(code=FaultCode.FILE_UNREADABLE, file=file.name, reason=reason))
        return None
    if not judge_columns(table.column_names, file.name, faults):
        return None
    columns: dict[str, pa.Array] = {}
    for name in LINE_COLUMNS:
        values = _as_text(name, table.column(name))
        if values is None:
            found = str(table.schema.field(name).type)
            reason = f"{name} has the type {found}; {_DUE.get(name, 'text')} is due"
            faults.add(
                Fault(
                    code=FaultCode.COLUMN_TYPE,
                    file=file.name,
                    column=name,
                    value=found,
                    reason=reason,
                )
            )
            continue
        if pc.any(pc.match_substring(values, "\0")).as_py():
            reason = f"{name} holds a NUL"
            faults.add(
                Fault(
                    code=FaultCode.NUL_BYTE, file=file.name, column=name, value="00", reason=reason
                )
            )
            continue
        columns[name] = values
    if len(columns) < len(LINE_COLUMNS):
        return None
    return RawLines(file=file.name, columns=columns)


def _as_text(name: str, column: pa.ChunkedArray) -> pa.Array | None:
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    is_fit = (
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or (name == "quantity" and pa.types.is_integer(kind))
        or (name not in ("sold_at", "quantity") and name in _DUE and pa.types.is_decimal(kind))
    )
    if name == "sold_at" and pa.types.is_timestamp(kind) and kind.tz is not None:
        try:
            column = pc.strftime(column, format="%Y-%m-%dT%H:%M:%S%z")
        except pa.ArrowInvalid:  # no such time zone, or an instant beyond the years 0 to 9999
            return None
    elif not is_fit:
        return None
    filled = pc.fill_null(column.cast(pa.string()), text(""))
    return one_chunk(filled)
