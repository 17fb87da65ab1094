"""What a landed source must look like: columns, totals, and the named faults of a bad one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

KEPT_FAULTS = 100
JUDGED_LINES = 20
"""A delivery of fewer lines is too small to judge by how many of its products are unknown."""
VALUE_LIMIT = 80

LINE_COLUMNS: tuple[str, ...] = (
    "line_id",
    "basket_id",
    "store_id",
    "product_id",
    "sold_at",
    "quantity",
    "sales_value",
    "retail_discount",
    "coupon_discount",
)
"""The columns of a landed line. They are found by name: their order in the file is free."""


class FaultCode(StrEnum):
    """A stable name for each way in which a source can be bad; codes are never reused."""

    FILE_MISSING = "file_missing"
    FILE_AMBIGUOUS = "file_ambiguous"
    FILE_ZERO_BYTES = "file_zero_bytes"
    FILE_UNREADABLE = "file_unreadable"
    GZIP_TRUNCATED = "gzip_truncated"
    GZIP_CORRUPT = "gzip_corrupt"
    ENCODING_UNKNOWN = "encoding_unknown"
    NUL_BYTE = "nul_byte"
    LAST_LINE_CUT = "last_line_cut"
    HEADER_MISSING = "header_missing"
    HEADER_ONLY = "header_only"
    HEADER_REPEATED = "header_repeated"
    COLUMN_MISSING = "column_missing"
    COLUMN_EXTRA = "column_extra"
    COLUMN_DUPLICATED = "column_duplicated"
    COLUMN_TYPE = "column_type"
    FIELD_COUNT = "field_count"
    QUOTE_STRAY = "quote_stray"
    MANIFEST_MISSING = "manifest_missing"
    MANIFEST_UNREADABLE = "manifest_unreadable"
    MANIFEST_SCHEMA = "manifest_schema"
    MANIFEST_PARTITION = "manifest_partition"
    MANIFEST_HASH = "manifest_hash"
    MANIFEST_LINES = "manifest_lines"
    MANIFEST_UNITS = "manifest_units"
    MANIFEST_REVENUE = "manifest_revenue"
    MANIFEST_STORES = "manifest_stores"
    VALUE_MISSING = "value_missing"
    VALUE_BLANK = "value_blank"
    INTEGER_MALFORMED = "integer_malformed"
    INTEGER_OUT_OF_RANGE = "integer_out_of_range"
    DECIMAL_MALFORMED = "decimal_malformed"
    DECIMAL_COMMA = "decimal_comma"
    DECIMAL_OUT_OF_RANGE = "decimal_out_of_range"
    TIMESTAMP_MALFORMED = "timestamp_malformed"
    DATE_OUTSIDE = "date_outside"
    REGION_FOREIGN = "region_foreign"
    STORE_UNKNOWN = "store_unknown"
    PRODUCT_UNKNOWN = "product_unknown"
    LINE_DUPLICATED = "line_duplicated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One reason to refuse a source.

    `file` is the name inside the partition's folder; `line` counts physical lines of the unpacked
    file from 1 (the header is line 1), None where the fault is not of a line; `column` is a name
    or None; `value` is the offending text, cut at 80 characters, or None. What PostgreSQL
    cannot store (NUL, lone surrogates) is escaped.
    """

    code: FaultCode
    file: str
    line: int | None = None
    column: str | None = None
    value: str | None = None
    reason: str

    def __post_init__(self) -> None:
        if not self.reason:
            raise ValueError("a fault needs a reason")
        if self.value is not None:
            object.__setattr__(self, "value", _cut(_storable(self.value)))
        if self.column is not None:
            object.__setattr__(self, "column", _cut(_storable(self.column)))
        object.__setattr__(self, "reason", _storable(self.reason))

    def __str__(self) -> str:
        where = self.file + (f":{self.line}" if self.line is not None else "")
        column = f" {self.column}" if self.column else ""
        value = f" {self.value!r}" if self.value is not None else ""
        return f"{where}{column}{value} {self.code}: {self.reason}"


def _storable(text: str) -> str:
    """The text with NULs and lone surrogates escaped: PostgreSQL stores neither."""
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()


def _cut(text: str) -> str:
    return text if len(text) <= VALUE_LIMIT else text[: VALUE_LIMIT - 1] + "…"


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultReport:
    """The faults of one source: the first 100 kept, all counted by code."""

    kept: tuple[Fault, ...]
    counts: Mapping[FaultCode, int]

    def __post_init__(self) -> None:
        if not self.counts:
            raise ValueError("a fault report without a fault")
        if len(self.kept) > KEPT_FAULTS:
            raise ValueError(f"a fault report keeps at most {KEPT_FAULTS} faults")

    @property
    def total(self) -> int:
        """How many faults there were, kept or not."""
        return sum(self.counts.values())

    @property
    def summary(self) -> str:
        """The first fault, and how many more there were, on one line."""
        more = self.total - 1
        return str(self.kept[0]) + (f" (+{more} more)" if more else "")


def _telling_order(fault: Fault) -> tuple[bool, bool, int]:
    return fault.line is None, fault.code.startswith("manifest_"), fault.line or 0


@dataclass(slots=True)
class FaultCollector:
    """Collects faults up to the limit and counts all of them."""

    kept: list[Fault] = field(default_factory=list[Fault])
    counts: dict[FaultCode, int] = field(default_factory=dict[FaultCode, int])

    def add(self, fault: Fault, *, also: int = 0) -> None:
        """Count the fault, and `also` further ones of its code that are not worth building."""
        self.counts[fault.code] = self.counts.get(fault.code, 0) + 1 + also
        if len(self.kept) < KEPT_FAULTS:
            self.kept.append(fault)

    def merge(self, other: FaultCollector) -> None:
        """Add what another has collected, as if each had been added here."""
        self.kept.extend(other.kept[: KEPT_FAULTS - len(self.kept)])
        for code, count in other.counts.items():
            self.counts[code] = self.counts.get(code, 0) + count

    def report(self) -> FaultReport | None:
        """What was collected, the most telling first, or None where nothing was.

        Faults of lines come by line, then those of the file, then those of the manifest: a bad
        line explains the totals that it upset, and not the other way round.
        """
        if not self.counts:
            return None
        kept = sorted(self.kept, key=_telling_order)
        return FaultReport(kept=tuple(kept), counts=dict(self.counts))


def explain_unknown_products(*, lines: int, unmatched: int) -> str | None:
    """Why a delivery is refused in which most products are unknown; None where it is not.

    Single unknown products are left out and counted. Where most lines have one, the codes were
    mangled on their way (leading zeros, another coding), and good rows would give way to none.
    """
    if lines < JUDGED_LINES or 2 * unmatched <= lines:
        return None
    return f"{unmatched} of {lines} lines have a product that the product dimension does not know"


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlTotals:
    """Totals over all landed lines of a partition, before anything is left out.

    `units` is the sum of quantity, `revenue_cents` the sum of sales_value in cents, `stores` the
    number of distinct stores.
    """

    lines: int
    units: int
    revenue_cents: int
    stores: int
