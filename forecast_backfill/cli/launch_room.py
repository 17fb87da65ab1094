"""Refuses a campaign for which the database's disk has no room, before it is launched."""

from __future__ import annotations

from collections.abc import Sequence

from forecast_backfill.core.errors import DiskTooFull
from forecast_backfill.core.partition import DateRange
from forecast_backfill.core.preflight import Standing, judge_room
from forecast_backfill.core.states import OutputState, PartitionStatus
from forecast_backfill.warehouse.plan_facts import PostgresPlanFacts


def refuse_without_room(
    facts: PostgresPlanFacts, dates: DateRange, regions: Sequence[str], *, reprocess: bool
) -> None:
    """Raise DiskTooFull where what is to be written, and kept for a rollback, may not fit.

    A disk that cannot be seen from here is not judged; `plan` says so.
    """
    outputs = facts.outputs(dates, regions)
    done = sum(
        each.status is PartitionStatus.DONE and each.output is OutputState.CURRENT
        for each in outputs.values()
    )
    left = len(tuple(dates)) * len(regions) - (0 if reprocess else done)
    line = judge_room(kept_bytes=facts.partition_bytes() * left, free_bytes=facts.free_bytes())
    if line.standing is Standing.STOP:
        raise DiskTooFull(
            "the campaign was not launched: the database's disk is too full",
            why=line.told,
            next_command="forecast-backfill accept --expired (frees what is kept for rollbacks), "
            "free disk space, or launch a smaller range",
        )
