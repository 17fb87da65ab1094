"""Refuses a campaign for which the database's disk has no room, before it writes anything."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta

from forecast_backfill.app.plan_ports import PlanFacts
from forecast_backfill.core.errors import DiskTooFull
from forecast_backfill.core.partition import DateRange, Partition
from forecast_backfill.core.preflight import Standing, judge_room
from forecast_backfill.core.seal import RegionOutput
from forecast_backfill.core.states import OutputState, PartitionStatus


def refuse_without_room(
    facts: PlanFacts, partitions: Collection[Partition], *, rewrites: bool
) -> None:
    """Raise DiskTooFull where what is to be written, and kept for a rollback, may not fit.

    What is done needs room only where the campaign `rewrites` it. A disk that cannot be seen from
    here is not judged; `plan` says so.
    """
    left = set(partitions)
    if left and not rewrites:
        left -= _done(_outputs(facts, left))
    line = judge_room(kept_bytes=facts.partition_bytes() * len(left), free_bytes=facts.free_bytes())
    if line.standing is Standing.STOP:
        raise DiskTooFull(
            "the campaign was not begun: the database's disk is too full",
            why=f"{line.told} for {len(left)} partitions",
            next_command="forecast-backfill accept --expired (frees what is kept for rollbacks), "
            "free disk space, or launch a smaller range",
        )


def _outputs(
    facts: PlanFacts, partitions: Collection[Partition]
) -> Mapping[Partition, RegionOutput]:
    days = [each.date for each in partitions]
    dates = DateRange(start=min(days), end=max(days) + timedelta(days=1))
    return facts.outputs(dates, sorted({each.region for each in partitions}))


def _done(outputs: Mapping[Partition, RegionOutput]) -> set[Partition]:
    return {
        partition
        for partition, found in outputs.items()
        if found.status is PartitionStatus.DONE and found.output is OutputState.CURRENT
    }
