"""What a training window holds: which partitions are in, which are left out, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date as Date
from enum import StrEnum
from fractions import Fraction
from types import MappingProxyType

from forecast_backfill.core.partition import DateRange, Partition, partitions_of

NOTHING: Mapping[str, Date] = MappingProxyType({})


class CellState(StrEnum):
    """What a window finds of a partition."""

    IN = "in"
    STALE = "stale"
    QUARANTINED = "quarantined"
    MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A partition as the seals have it: readable at `version`, or out for a `reason`.

    A stale one has both: an older output is readable, and its newer source was refused. Raises
    ValueError where state, version and reason contradict each other.
    """

    state: CellState
    version: str | None = None
    reason: str | None = None

    def __post_init__(self) -> None:
        has_version = self.state in (CellState.IN, CellState.STALE)
        if has_version != (self.version is not None):
            raise ValueError(f"a cell that is {self.state} and has the version {self.version}")
        if (self.state is CellState.IN) != (self.reason is None):
            raise ValueError(f"a cell that is {self.state} and has the reason {self.reason}")


UNSEALED = Cell(state=CellState.MISSING, reason="no seal has this partition")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """One partition that is not trained on, and why."""

    partition: Partition
    state: CellState
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What a window holds: `left_out` and `stale_used` in order of date and region, and counts.

    `missing_by_region` and `missing_by_date` name only those with something missing.
    """

    window: DateRange
    regions: tuple[str, ...]
    expected_by_date: Mapping[Date, int]
    left_out: tuple[LeftOut, ...]
    stale_used: tuple[LeftOut, ...]
    missing_by_region: Mapping[str, int]
    missing_by_date: Mapping[Date, int]

    @property
    def expected(self) -> int:
        """How many partitions a complete window would have."""
        return sum(self.expected_by_date.values())

    @property
    def missing_fraction(self) -> Fraction:
        """The exact share of the expected partitions that is left out."""
        return Fraction(len(self.left_out), self.expected)


def cover(
    *,
    window: DateRange,
    regions: Sequence[str],
    opened: Mapping[str, Date],
    cells: Mapping[Partition, Cell],
    counts: Callable[[Cell], bool],
) -> Coverage:
    """Sort every expected partition of the window into what `counts` and what is left out.

    Raises ValueError where `regions` names one twice or nothing at all is expected.
    """
    expected = [
        partition
        for partition in partitions_of(window, regions)
        if partition.date >= opened.get(partition.region, window.start)
    ]
    if not expected or len(set(regions)) != len(regions):
        raise ValueError(f"the regions {tuple(regions)} expect nothing, or one is named twice")
    left_out: list[LeftOut] = []
    stale_used: list[LeftOut] = []
    for partition in expected:
        cell = cells.get(partition, UNSEALED)
        if cell.reason is not None:
            told = LeftOut(partition=partition, state=cell.state, reason=cell.reason)
            (stale_used if counts(cell) else left_out).append(told)
    return Coverage(
        window=window,
        regions=tuple(regions),
        expected_by_date=Counter(each.date for each in expected),
        left_out=tuple(left_out),
        stale_used=tuple(stale_used),
        missing_by_region=Counter(each.partition.region for each in left_out),
        missing_by_date=Counter(each.partition.date for each in left_out),
    )
