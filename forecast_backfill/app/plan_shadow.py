"""Which partitions of a shadow an ordinary campaign fills, and which nobody else comes to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date as Date
from datetime import timedelta

from forecast_backfill.app.campaign import LaunchPlan, PartitionSpan
from forecast_backfill.core.calendar import Calendar
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.shadow_check import DuePartition

Run = tuple[str, str]
"""The first and the last of neighbouring regions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowPlan:
    """How a shadow is filled: by a campaign (None where it has nothing to do), and beside it."""

    launch: LaunchPlan | None
    beside: tuple[DuePartition, ...]


def plan_fill(
    due: Iterable[DuePartition], *, shadow_id: int, calendar: Calendar, known: Sequence[str]
) -> ShadowPlan:
    """A campaign for what the ledger has as done before the seam; all else is filled beside it.

    What nightly owns, an older output below a refused source, and partitions that this project has
    no key for: no campaign would come to them.
    """
    chosen: list[Partition] = []
    beside: list[DuePartition] = []
    for each in due:
        partition = each.partition
        is_ours = calendar.first_date <= partition.date < calendar.seam and each.is_done
        if is_ours and partition.region in known:
            chosen.append(partition)
        else:
            beside.append(each)
    launch = None
    if chosen:
        launch = LaunchPlan(
            spans=tuple(_rectangles(chosen, known)),
            partitions=len(chosen),
            title=f"shadow {shadow_id}: {len(chosen)} partitions",
        )
    return ShadowPlan(launch=launch, beside=tuple(beside))


def _rectangles(partitions: Sequence[Partition], known: Sequence[str]) -> Iterator[PartitionSpan]:
    """Dates in a row that have the same run of neighbouring regions are one rectangle."""
    number = {name: index for index, name in enumerate(known)}
    by_date: dict[Date, list[int]] = {}
    for each in sorted(partitions):
        by_date.setdefault(each.date, []).append(number[each.region])
    open_ones: dict[Run, tuple[Date, Date]] = {}
    for date, regions in by_date.items():
        runs = {(known[first], known[last]) for first, last in _runs(sorted(regions))}
        for run in [run for run in open_ones if run not in runs or _ended(open_ones[run], date)]:
            yield _span(run, open_ones.pop(run))
        for run in runs:
            open_ones[run] = (open_ones.get(run, (date, date))[0], date)
    for run, dates in open_ones.items():
        yield _span(run, dates)


def _ended(dates: tuple[Date, Date], date: Date) -> bool:
    return dates[1] + timedelta(days=1) != date


def _span(run: Run, dates: tuple[Date, Date]) -> PartitionSpan:
    return PartitionSpan(
        first=Partition(date=dates[0], region=run[0]), last=Partition(date=dates[1], region=run[1])
    )


def _runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    first = last = numbers[0]
    for number in numbers[1:]:
        if number != last + 1:
            yield first, last
            first = number
        last = number
    yield first, last
