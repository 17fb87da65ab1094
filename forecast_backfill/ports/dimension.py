"""What loading and reading dimensions needs of the world, as Protocols and values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date as Date
from typing import Protocol

from forecast_backfill.core.dimension import DimensionFingerprint, DimensionName, Row
from forecast_backfill.core.partition import DateRange


@dataclass(frozen=True, slots=True, kw_only=True)
class LandedDimension:
    """A dimension as landed, or the part of it that is stored on its own; '' is all of it.

    `digest` covers all that the rows depend on; `read` gives the rows, in the dimension's columns.
    """

    name: DimensionName
    part: str
    digest: str
    read: Callable[[], Sequence[Row]]


class LandedDimensions(Protocol):
    """Where landed dimensions are read from."""

    def find(self, name: DimensionName) -> LandedDimension | None:
        """One that is landed in a single file; None where it is not landed."""
        ...

    def find_promotions(self, week: Date, regions: Sequence[str]) -> LandedDimension | None:
        """The promotion facts of the week that begins on the Monday `week`; None without any."""
        ...


class DimensionTransaction(Protocol):
    """One open transaction that replaces a dimension's part; an exception rolls it all back."""

    def loaded_digest(self) -> str | None:
        """The digest of what is stored, read under the dimension's lock; None where nothing is."""
        ...

    def replace(self, rows: Sequence[Row]) -> int:
        """Delete what is stored and write `rows`; how many were deleted."""
        ...

    def fingerprint(self) -> DimensionFingerprint:
        """The fingerprint of what is stored now, computed by the database from the columns."""
        ...

    def record(self, digest: str, fingerprint: DimensionFingerprint) -> None:
        """Record what is stored now."""
        ...


class DimensionStore(Protocol):
    """Where dimensions are stored."""

    def transaction(
        self, name: DimensionName, part: str
    ) -> AbstractContextManager[DimensionTransaction]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DimensionPorts:
    """Everything that loading is handed."""

    landed: LandedDimensions
    store: DimensionStore


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionShare:
    """The promotions of a demand group in a region, in the week that begins on `week`.

    `pairs` counts the products of the group in each store whose promotions are known; so many of
    them are on display and in the mailer.
    """

    region: str
    demand_group: str
    week: Date
    pairs: int
    on_display: int
    on_mailer: int

    @property
    def display_share(self) -> float:
        """The part of the pairs that is on display."""
        return self.on_display / self.pairs if self.pairs else 0.0

    @property
    def mailer_share(self) -> float:
        """The part of the pairs that is in the mailer."""
        return self.on_mailer / self.pairs if self.pairs else 0.0


class PromotionShares(Protocol):
    """The promotions that were known on a date, also those of coming weeks."""

    def promotion_shares(
        self, weeks: DateRange, regions: Sequence[str], *, known_by: Date
    ) -> Sequence[PromotionShare]:
        """Of every week that touches `weeks` and was recorded by the end of `known_by` (UTC).

        Groups without a promotion have no row; a week of a region without any row is unknown.
        """
        ...
