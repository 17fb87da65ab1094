"""The fingerprint of a partition: row count, order-independent checksum, integer aggregates."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

CHECKSUM_COLUMNS: tuple[str, ...] = (
    "date",
    "region",
    "store_id",
    "product_id",
    "demand_group",
    "units",
    "revenue_cents",
    "discount_cents",
    "baskets",
    "list_price_cents",
    "on_display",
    "on_mailer",
)
"""The value columns of `daily_demand` in the order in which the checksum reads them.

Dates are ISO 8601 text; booleans are `1` and `0`. Version columns are not among them: the same
truth delivered twice has one checksum.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """What is compared between what was read and what is stored.

    `checksum` is the exact sum of the row hashes (an integer of any size); `units` in pieces,
    `revenue_cents` in cents; `stores` and `products` count distinct codes.
    """

    rows: int
    checksum: int
    units: int
    revenue_cents: int
    stores: int
    products: int

    def __post_init__(self) -> None:
        if min(self.rows, self.checksum, self.stores, self.products) < 0:
            raise ValueError("counts and checksum of a fingerprint are not negative")

    @property
    def data_version(self) -> str:
        """A digest of the content, the same wherever and whenever the same rows were written."""
        text = (
            f"{self.rows}:{self.checksum}:{self.units}:"
            f"{self.revenue_cents}:{self.stores}:{self.products}"
        )
        return hashlib.sha256(text.encode()).hexdigest()[:20]


def canonical_text(values: Sequence[str | int | bool | None]) -> str:
    """The row as one text in which no two different rows agree.

    Each value is its text after its length in characters and a colon; a missing value is `-`. So
    ('a', 'bc') and ('ab', 'c') differ, and so do a missing and an empty text.
    """
    return "".join(_encode(value) for value in values)


def row_hash(values: Sequence[str | int | bool | None]) -> int:
    """The first 15 hexadecimal digits of the canonical text's md5: an integer below 2^60."""
    digest = hashlib.md5(canonical_text(values).encode(), usedforsecurity=False).hexdigest()
    return int(digest[:15], 16)


def _encode(value: str | int | bool | None) -> str:
    if value is None:
        return "-"
    text = str(int(value)) if isinstance(value, bool) else str(value)
    return f"{len(text)}:{text}"
