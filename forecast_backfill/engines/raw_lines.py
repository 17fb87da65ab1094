"""The lines of a source as text, found by column name, each with its place in the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from forecast_backfill.core.source import LINE_COLUMNS, Fault, FaultCode, FaultCollector


@dataclass(frozen=True, slots=True, kw_only=True)
class RawLines:
    """One text array for each of LINE_COLUMNS, without missing values (they are empty texts).

    `physical` gives the physical line of each record, None where record i is on line i + 2.
    `multiline` lists the physical lines on which records begin that hold a line break; `open_line`
    is the last physical line where no line break ends it, else None.
    """

    file: str
    columns: Mapping[str, pa.Array]
    physical: Sequence[int] | None = None
    multiline: Sequence[int] = ()
    open_line: int | None = None

    @property
    def count(self) -> int:
        """How many records there are."""
        return len(self.columns["line_id"])

    def line_of(self, record: int) -> int:
        """The physical line, counted from 1, on which the record begins."""
        return record + 2 if self.physical is None else self.physical[record]


def judge_columns(names: Sequence[str], file: str, faults: FaultCollector) -> bool:
    """Whether the header names exactly LINE_COLUMNS, in any order; the faults where not."""
    due = set(LINE_COLUMNS)
    if not due & set(names):
        head = ",".join(names)
        other = next((mark for mark in (";", "\t", "|") if mark in head), None)
        hint = f" (is {other!r} the delimiter? a comma is due)" if other else ""
        reason = f"the first line names none of the due columns{hint}"
        faults.add(
            Fault(code=FaultCode.HEADER_MISSING, file=file, line=1, value=head, reason=reason)
        )
        return False
    good = True
    for name in LINE_COLUMNS:
        if name not in names:
            good = False
            _add(faults, FaultCode.COLUMN_MISSING, file, name, f"the column {name} is missing")
    for name in dict.fromkeys(names):
        if name not in due:
            good = False
            reason = f"the column {name!r} is not among the due ones"
            _add(faults, FaultCode.COLUMN_EXTRA, file, name, reason)
        elif names.count(name) > 1:
            good = False
            reason = f"the column {name} is there {names.count(name)} times"
            _add(faults, FaultCode.COLUMN_DUPLICATED, file, name, reason)
    return good


def _add(faults: FaultCollector, code: FaultCode, file: str, name: str, reason: str) -> None:
    faults.add(Fault(code=code, file=file, line=1, column=name, value=name, reason=reason))
