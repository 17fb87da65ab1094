"""Rows that were counted twice: their signature, and what a repair must leave behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

from forecast_backfill.core.parity import MismatchKind

Place = tuple[str | None, ...]
"""The partition's values as text, () where the table is one partition; None is a missing one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """How often the keys of one partition are there.

    `doubled` keys are there more than once; a key has `least` to `most` rows. Of `other_values`
    keys the rows differ, and of `ties` even the newest ones do.
    """

    place: Place
    rows: int
    keys: int
    doubled: int
    least: int
    most: int
    other_values: int
    ties: int

    def __post_init__(self) -> None:
        if self.doubled < 1 or self.most < 2:
            raise ValueError("a partition without a doubled key has no copies")

    @property
    def surplus(self) -> int:
        """Rows beyond one a key."""
        return self.rows - self.keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What the copies look like, in the words of core/parity.py; a factor where it is exact."""

    kind: MismatchKind
    factor: int | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Who wrote doubled rows, as far as the table tells.

    `at` is when the transaction was committed, None where the server does not keep it; `name` and
    `first` to `last` come from columns of the table (run_id, written_at), None where it has none.
    """

    place: Place
    transaction: str
    rows: int
    at: datetime | None
    name: str | None
    first: str | None
    last: str | None

    @property
    def is_known(self) -> bool:
        """Whether anything but the transaction's number is known."""
        return any(each is not None for each in (self.at, self.name, self.first))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tie:
    """A key whose newest rows have one version and different values: a person has to choose."""

    key: tuple[str | None, ...]
    copies: int
    version: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """A partition's rows: how many, the exact sum of their hashes, doubled keys, sums by column."""

    rows: int
    checksum: int
    doubled: int
    sums: Mapping[str, Decimal]


def sign(copies: Copies) -> Signature:
    """Name what the copies look like."""
    if copies.least == copies.most and not copies.other_values:
        return Signature(
            kind=MismatchKind.EXACT_MULTIPLE,
            factor=copies.most,
            reason=f"every row is there {copies.most} times",
        )
    often = f"{copies.doubled} of {copies.keys} keys are there more than once (up to {copies.most})"
    if not copies.other_values:
        reason = f"{often}, with the same values"
        return Signature(kind=MismatchKind.EXTRA_ROWS, factor=None, reason=reason)
    reason = f"{often}, {copies.other_values} with other values"
    return Signature(kind=MismatchKind.VALUES_DIFFER, factor=None, reason=reason)


def judge_collapse(
    *, before: Content, expected: Content, removed: Content, after: Content
) -> str | None:
    """Why a collapsed partition may not be committed; None where it may.

    What is left must be exactly the survivors that were expected, no key twice, and what was
    removed plus what is left must be all that there was.
    """
    if after.doubled:
        return f"{after.doubled} keys are still there more than once"
    if (after.rows, after.checksum) != (expected.rows, expected.checksum):
        return f"expected {expected.rows} rows to be left, found {after.rows}, or other ones"
    if before.rows != after.rows + removed.rows:
        return f"of {before.rows} rows {removed.rows} were removed and {after.rows} are left"
    for name, total in before.sums.items():
        parts = (after.sums[name], removed.sums[name])
        if not all(each.is_finite() for each in (total, *parts)):
            continue
        if Fraction(total) != sum((Fraction(each) for each in parts), Fraction(0)):
            return f"{name}: {total} before, {parts[0]} left and {parts[1]} removed"
    return None
