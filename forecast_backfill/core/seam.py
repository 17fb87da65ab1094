"""The seam: backfill owns the dates before it, nightly owns it and every later date.

A campaign that asks for an overlap may write on both sides, but never by replacing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date as Date

from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Go:
    """The workload owns the partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoBeside:
    """The workload may write beside the owner, by version-guarded merge only."""

    owner: Workload
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SeamRefusal:
    """The other workload owns the partition; `reason` says who and until when."""

    owner: Workload
    reason: str
    next_command: str


def owner_of(date: Date, *, seam: Date) -> Workload:
    """Who owns the date."""
    return Workload.BACKFILL if date < seam else Workload.NIGHTLY


def judge(
    *, partition: Partition, workload: Workload, seam: Date, is_overlap: bool = False
) -> Go | GoBeside | SeamRefusal:
    """Whether `workload` may write `partition` when the seam is at `seam`.

    A backfill that asks for an overlap may on every date: the seam moves while it runs.
    """
    owner = owner_of(partition.date, seam=seam)
    if is_overlap and workload is Workload.BACKFILL:
        return GoBeside(
            owner=owner, reason=f"{owner} owns {partition.date}; the campaign merges beside it"
        )
    if owner is workload:
        return Go()
    if owner is Workload.NIGHTLY:
        return SeamRefusal(
            owner=owner,
            reason=f"nightly owns {seam} and every later date until the seam moves past it",
            next_command=f"forecast-backfill backfill … --to {seam} (the end is exclusive); "
            "or --overlap to merge beside nightly",
        )
    return SeamRefusal(
        owner=owner,
        reason=f"backfill owns every date before {seam}; nightly may not rewrite history",
        next_command=f"forecast-backfill backfill {partition.options}",
    )
