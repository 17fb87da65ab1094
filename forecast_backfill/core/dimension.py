"""What a dimension is: its columns, which versions it may have, and the fingerprint of its rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from datetime import date as Date
from enum import StrEnum

from forecast_backfill.core.fingerprint import row_hash
from forecast_backfill.core.intervals import Coherent, Incoherent, Interval, judge_intervals

Value = str | int | Date | datetime | None
Row = Sequence[Value]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class DimensionName(StrEnum):
    """The dimensions that are landed."""

    PRODUCT = "product"
    STORE_REGION = "store_region"
    SHELF_PRICE = "shelf_price"
    PROMOTION = "promotion"


COLUMNS: dict[DimensionName, tuple[str, ...]] = {
    DimensionName.PRODUCT: ("product_id", "department", "category", "demand_group", "exclusion"),
    DimensionName.STORE_REGION: ("store_id", "region", "valid_from", "valid_to"),
    DimensionName.SHELF_PRICE: (
        "product_id",
        "price_cents",
        "valid_from",
        "valid_to",
        "recorded_at",
    ),
    DimensionName.PROMOTION: (
        "week",
        "region",
        "demand_group",
        "stores",
        "products",
        "facts",
        "on_display",
        "on_mailer",
        "recorded_at",
    ),
}
"""The columns in the order in which rows have them and the checksum reads them."""

_KEYS: dict[DimensionName, tuple[str, ...]] = {
    DimensionName.PRODUCT: ("product_id",),
    DimensionName.STORE_REGION: ("store_id",),
    DimensionName.SHELF_PRICE: ("product_id",),
    DimensionName.PROMOTION: ("week", "region", "demand_group"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DimensionFingerprint:
    """Row count and order-independent checksum of a dimension's rows."""

    rows: int
    checksum: int


def fingerprint_rows(rows: Iterable[Row]) -> DimensionFingerprint:
    """The fingerprint; dates are ISO 8601 text, instants are microseconds since 1970 UTC."""
    hashes = [row_hash([_plain(value) for value in row]) for row in rows]
    return DimensionFingerprint(rows=len(hashes), checksum=sum(hashes))


def _plain(value: Value) -> str | int | None:
    if isinstance(value, datetime):
        return (value - _EPOCH) // _MICROSECOND
    return value.isoformat() if isinstance(value, Date) else value


def judge_rows(name: DimensionName, rows: Sequence[Row]) -> Coherent | Incoherent:
    """Judge the versions of every key: never two at a time, and none missing in between."""
    return judge_intervals((_interval(name, row) for row in rows), gapless=True)


def find_late_record(name: DimensionName, rows: Iterable[Row]) -> str | None:
    """The reason that the first price which was entered after it held must be refused, if any."""
    if name is not DimensionName.SHELF_PRICE:
        return None
    for product, _, start, _, recorded in rows:
        if isinstance(start, Date) and isinstance(recorded, datetime):
            begins = datetime(start.year, start.month, start.day, tzinfo=UTC)
            if recorded >= begins:
                return f"the price of {product} from {start} was recorded at {recorded.isoformat()}"
    return None


def _interval(name: DimensionName, row: Row) -> Interval:
    values = dict(zip(COLUMNS[name], row, strict=True))
    key = " ".join(str(values[column]) for column in _KEYS[name])
    start, end = values.get("valid_from"), values.get("valid_to")
    return Interval(
        key=key,
        start=start if isinstance(start, Date) else None,
        end=end if isinstance(end, Date) else None,
    )
