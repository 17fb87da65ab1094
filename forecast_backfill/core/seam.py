"""The seam: backfill owns the dates before it, nightly owns it and every later date."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date as Date

from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Go:
    """The workload owns the partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeamRefusal:
    """The other workload owns the partition; `reason` says who and until when."""

    owner: Workload
    reason: str
    next_command: str


def judge(*, partition: Partition, workload: Workload, seam: Date) -> Go | SeamRefusal:
    """Whether `workload` may write `partition` when the seam is at `seam`."""
    owner = Workload.BACKFILL if partition.date < seam else Workload.NIGHTLY
    if owner is workload:
        return Go()
    if owner is Workload.NIGHTLY:
        return SeamRefusal(
            owner=owner,
            reason=f"nightly owns {seam} and every later date until the seam moves past it",
            next_command=f"forecast-backfill backfill … --to {seam} (the end is exclusive)",
        )
    return SeamRefusal(
        owner=owner,
        reason=f"backfill owns every date before {seam}; nightly may not rewrite history",
        next_command=(
            f"forecast-backfill backfill --from {partition.date} --regions {partition.region}"
        ),
    )
