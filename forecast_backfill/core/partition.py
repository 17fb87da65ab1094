"""A partition is one (date, region): the unit that is written, reconciled and recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date as Date
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Partition:
    """One business date (local to the chain) of one region, for example 2026-11-01 of R07."""

    date: Date
    region: str

    def __str__(self) -> str:
        return f"{self.date.isoformat()} {self.region}"

    @property
    def options(self) -> str:
        """What names this one partition to a verb that takes a range."""
        return f"--from {self.date} --to {self.date + timedelta(days=1)} --regions {self.region}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DateRange:
    """A half-open range of dates `[start, end)`; never empty or inverted.

    Raises ValueError where `end` is not after `start`.
    """

    start: Date
    end: Date

    def __post_init__(self) -> None:
        if self.end <= self.start:
            raise ValueError(f"the range [{self.start}, {self.end}) holds no date")

    def __iter__(self) -> Iterator[Date]:
        day = self.start
        while day < self.end:
            yield day
            day += timedelta(days=1)

    def __len__(self) -> int:
        return (self.end - self.start).days

    def __contains__(self, day: object) -> bool:
        return isinstance(day, Date) and self.start <= day < self.end


def partitions_of(dates: DateRange, regions: Sequence[str]) -> Iterator[Partition]:
    """Every partition of the range, by date and then by region in the given order."""
    for day in dates:
        for region in regions:
            yield Partition(date=day, region=region)
