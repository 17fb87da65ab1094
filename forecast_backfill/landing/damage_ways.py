"""The named ways in which a demo spoils a delivery, each with the fault that it is found as."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from forecast_backfill.core.partition import Partition
from forecast_backfill.core.source import LINE_COLUMNS, FaultCode
from forecast_backfill.landing.delivery import pack


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A good delivery of at least two lines; `rows` are its header and lines without line ends."""

    partition: Partition
    rows: tuple[str, ...]
    foreign_store: str

    @property
    def text(self) -> bytes:
        """The file before packing."""
        return "".join(f"{row}\n" for row in self.rows).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoiled:
    """What is landed instead: no file or no manifest where None or false.

    The manifest states the spoiled file's true hash unless `sha256` gives another, so that the
    named fault is what is found, and not the hash.
    """

    file: bytes | None
    has_manifest: bool = True
    sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way to spoil a delivery."""

    name: str
    found_as: FaultCode
    spoil: Callable[[Delivery], Spoiled]


def _field_way(name: str, code: FaultCode, column: str, change: Callable[[str], str]) -> Way:
    """A way that changes one column of the first line."""
    return Way(name=name, found_as=code, spoil=lambda d: _set_field(d, column, change))


def _text_way(name: str, code: FaultCode, change: Callable[[bytes], bytes]) -> Way:
    """A way that changes the text as a whole."""
    return Way(name=name, found_as=code, spoil=lambda d: Spoiled(file=pack(change(d.text))))


def _set_field(delivery: Delivery, column: str, change: Callable[[str], str]) -> Spoiled:
    fields = delivery.rows[1].split(",")
    at = LINE_COLUMNS.index(column)
    fields[at] = change(fields[at])
    return _set_row(delivery, 1, ",".join(fields))


def _set_row(delivery: Delivery, at: int, row: str) -> Spoiled:
    return _of_rows((*delivery.rows[:at], row, *delivery.rows[at + 1 :]))


def _of_rows(rows: tuple[str, ...]) -> Spoiled:
    return Spoiled(file=pack("".join(f"{row}\n" for row in rows).encode()))


def _drop_discount(delivery: Delivery) -> Spoiled:
    at = LINE_COLUMNS.index("retail_discount")
    cells = [row.split(",") for row in delivery.rows]
    return _of_rows(tuple(",".join(row[:at] + row[at + 1 :]) for row in cells))


def _repeat_line_id(delivery: Delivery) -> Spoiled:
    first_id = delivery.rows[1].split(",", 1)[0]
    return _set_row(delivery, 2, f"{first_id},{delivery.rows[2].split(',', 1)[1]}")


def _date_before(delivery: Delivery) -> Spoiled:
    day = (delivery.partition.date - timedelta(days=1)).isoformat()
    return _set_field(delivery, "sold_at", lambda sold_at: day + sold_at[10:])


def _latin_1(delivery: Delivery) -> Spoiled:
    line_id, rest = delivery.rows[1].split(",", 1)
    rows = (delivery.rows[0], f"{line_id},é{rest}", *delivery.rows[2:])
    return Spoiled(file=pack("".join(f"{row}\n" for row in rows).encode("latin-1")))


def _cut_short(delivery: Delivery) -> Spoiled:
    packed = pack(delivery.text)
    return Spoiled(file=packed[: len(packed) * 2 // 3])


def _shift_columns(delivery: Delivery) -> Spoiled:
    return _of_rows((delivery.rows[0], *(f"{row}," for row in delivery.rows[1:])))


WAYS: tuple[Way, ...] = (
    Way(name="gzip cut short", found_as=FaultCode.GZIP_TRUNCATED, spoil=_cut_short),
    _field_way(
        "decimal comma",
        FaultCode.DECIMAL_COMMA,
        "sales_value",
        lambda value: '"' + value.replace(".", ",") + '"',
    ),
    Way(
        name="manifest missing",
        found_as=FaultCode.MANIFEST_MISSING,
        spoil=lambda d: Spoiled(file=pack(d.text), has_manifest=False),
    ),
    Way(
        name="store of another region",
        found_as=FaultCode.REGION_FOREIGN,
        spoil=lambda d: _set_field(d, "store_id", lambda _: d.foreign_store),
    ),
    Way(name="line id twice", found_as=FaultCode.LINE_DUPLICATED, spoil=_repeat_line_id),
    Way(
        name="header only",
        found_as=FaultCode.HEADER_ONLY,
        spoil=lambda d: _of_rows(d.rows[:1]),
    ),
    Way(
        name="manifest hash wrong",
        found_as=FaultCode.MANIFEST_HASH,
        spoil=lambda d: Spoiled(file=pack(d.text), sha256="0" * 64),
    ),
    Way(name="date outside", found_as=FaultCode.DATE_OUTSIDE, spoil=_date_before),
    _text_way("NUL byte", FaultCode.NUL_BYTE, lambda text: text[:-2] + b"\0" + text[-1:]),
    Way(name="column missing", found_as=FaultCode.COLUMN_MISSING, spoil=_drop_discount),
    _field_way(
        "quantity as a float", FaultCode.INTEGER_MALFORMED, "quantity", lambda value: f"{value}.0"
    ),
    _field_way("stray quote", FaultCode.QUOTE_STRAY, "product_id", lambda value: f'"{value}'),
    Way(name="file missing", found_as=FaultCode.FILE_MISSING, spoil=lambda _: Spoiled(file=None)),
    _text_way("last line cut", FaultCode.LAST_LINE_CUT, lambda text: text[:-9]),
    Way(name="Latin-1 bytes", found_as=FaultCode.ENCODING_UNKNOWN, spoil=_latin_1),
    Way(name="zero bytes", found_as=FaultCode.FILE_ZERO_BYTES, spoil=lambda _: Spoiled(file=b"")),
    Way(name="trailing delimiter", found_as=FaultCode.FIELD_COUNT, spoil=_shift_columns),
    Way(
        name="header repeated inside",
        found_as=FaultCode.HEADER_REPEATED,
        spoil=lambda d: _of_rows((*d.rows[:2], d.rows[0], *d.rows[2:])),
    ),
)
"""In the order in which a demo uses them: the most different ones first."""
