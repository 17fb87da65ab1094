"""Campaigns: what a launch may ask for, how far one is, and whether it came to a good end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date as Date
from datetime import timedelta
from enum import StrEnum
from typing import Protocol

from forecast_backfill.core.calendar import Calendar
from forecast_backfill.core.errors import UsageRefused
from forecast_backfill.core.partition import DateRange, Partition
from forecast_backfill.core.seam import SeamRefusal, judge
from forecast_backfill.core.states import Workload
from forecast_backfill.core.version import Winner


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSpan:
    """A rectangle of dates × neighbouring regions, both ends inclusive."""

    first: Partition
    last: Partition


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchPlan:
    """What to launch: rectangles that overlap nowhere, and how many partitions they hold.

    `winner` is set where the campaign may write beside nightly.
    """

    spans: tuple[PartitionSpan, ...]
    partitions: int
    title: str
    winner: Winner | None = None


class BackfillState(StrEnum):
    """What matters of Dagster's many backfill statuses."""

    ACTIVE = "active"
    SUCCEEDED = "succeeded"
    ENDED_OTHERWISE = "ended_otherwise"

    @classmethod
    def of(cls, status: str) -> BackfillState:
        """The state behind a status; one that is not known counts as still active."""
        if status in ("COMPLETED", "COMPLETED_SUCCESS"):
            return cls.SUCCEEDED
        if status in ("COMPLETED_FAILED", "FAILED", "CANCELED"):
            return cls.ENDED_OTHERWISE
        return cls.ACTIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillProgress:
    """A backfill as the orchestrator sees it."""

    state: BackfillState
    status: str
    partitions: int
    error: str | None


class Launcher(Protocol):
    """Whoever runs campaigns."""

    def launch(
        self, spans: Sequence[PartitionSpan], *, tags: Mapping[str, str], title: str
    ) -> str: ...

    def progress(self, backfill_id: str) -> BackfillProgress: ...


def plan_launch(
    *,
    start: Date,
    end: Date,
    regions: Sequence[str],
    known: Sequence[str],
    calendar: Calendar,
    winner: Winner | None = None,
) -> LaunchPlan:
    """Plan a backfill of `[start, end)` × `regions`; with a `winner` it overlaps nightly's dates.

    Raises UsageRefused where the range is inverted or empty, where a region is unknown, and where
    the dates lie outside the calendar or, without an overlap, at or after the seam.
    """
    dates = _checked_dates(start, end, calendar, winner)
    chosen = _checked_regions(regions, known)
    last_day = dates.end - timedelta(days=1)
    spans = tuple(
        PartitionSpan(
            first=Partition(date=dates.start, region=run[0]),
            last=Partition(date=last_day, region=run[-1]),
        )
        for run in _neighbours(chosen, known)
    )
    named = "all regions" if len(chosen) == len(known) else ", ".join(chosen)
    return LaunchPlan(
        spans=spans,
        partitions=len(dates) * len(chosen),
        title=(
            f"{dates.start} to {last_day}, {named}{f', overlap, {winner} wins' if winner else ''}"
        )[:120],
        winner=winner,
    )


def plan_retry(partitions: Iterable[Partition]) -> LaunchPlan:
    """Plan a backfill of exactly these partitions.

    Raises UsageRefused where there are none.
    """
    chosen = sorted(set(partitions))
    if not chosen:
        raise UsageRefused(
            "there is nothing to retry",
            why="no quarantined source has changed since it was refused",
            next_command="forecast-backfill quarantine retry --all (tries unchanged ones too)",
        )
    spans = tuple(PartitionSpan(first=each, last=each) for each in chosen)
    return LaunchPlan(
        spans=spans, partitions=len(chosen), title=f"retry of {len(chosen)} quarantined partitions"
    )


def _checked_dates(start: Date, end: Date, calendar: Calendar, winner: Winner | None) -> DateRange:
    if end <= start:
        following = min(start, Date.max - timedelta(days=1)) + timedelta(days=1)
        raise UsageRefused(
            f"the range from {start} to {end} holds no date",
            why="--to is exclusive and must be later than --from",
            next_command=f"forecast-backfill backfill --from {start} --to {following}",
        )
    dates = DateRange(start=start, end=end)
    last_day = end - timedelta(days=1)
    if start < calendar.first_date:
        raise UsageRefused(
            f"{start} is before the first date {calendar.first_date}",
            why="the setting FORECAST_BACKFILL_FIRST_DATE begins the partitions there",
            next_command=f"forecast-backfill backfill --from {calendar.first_date} …",
        )
    if last_day > calendar.latest_date:
        raise UsageRefused(
            f"{last_day} is after the latest date {calendar.latest_date}",
            why="only dates that are over have a partition",
            next_command=f"forecast-backfill backfill --to {calendar.seam} …",
        )
    verdict = judge(
        partition=Partition(date=last_day, region="*"),
        workload=Workload.BACKFILL,
        seam=calendar.seam,
        is_overlap=winner is not None,
    )
    if isinstance(verdict, SeamRefusal):
        raise UsageRefused(
            f"{last_day} is not backfill's to write",
            why=verdict.reason,
            next_command=verdict.next_command,
        )
    return dates


def _checked_regions(regions: Sequence[str], known: Sequence[str]) -> list[str]:
    unknown = [name for name in regions if name not in known]
    if unknown or not regions:
        raise UsageRefused(
            f"unknown region {unknown[0]!r}" if unknown else "no region was named",
            why=f"the setting FORECAST_BACKFILL_REGIONS names {', '.join(known)}",
            next_command="forecast-backfill backfill --regions all (or names among those)",
        )
    return [name for name in known if name in set(regions)]


def _neighbours(chosen: Sequence[str], known: Sequence[str]) -> Iterator[list[str]]:
    run: list[str] = []
    for name in known:
        if name in chosen:
            run.append(name)
        elif run:
            yield run
            run = []
    if run:
        yield run
