"""Plan a campaign before it is launched: what it would do, how long, and what could stop it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from forecast_backfill.app.plan_ports import PlanPorts
from forecast_backfill.app.project_windows import project_windows
from forecast_backfill.core.capacity_measure import CapacityMeasure
from forecast_backfill.core.partition import DateRange, Partition, partitions_of
from forecast_backfill.core.preflight import (
    PreflightLine,
    Standing,
    judge_capacity,
    judge_contract,
    judge_control,
    judge_locks,
    judge_room,
    judge_seam,
    judge_signals,
    judge_slots,
    judge_sources,
)
from forecast_backfill.core.seal import RegionOutput
from forecast_backfill.core.sizing import Room, Sizing, TaskSeconds, size_campaign
from forecast_backfill.core.states import OutputState, PartitionStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignPlan:
    """What a campaign over `total` partitions would come to; `done` of them would be skipped.

    `sizing` is None where no duration is known.
    """

    total: int
    done: int
    each: TaskSeconds | None
    measure: CapacityMeasure
    room: Room
    sizing: Sizing | None
    lines: tuple[PreflightLine, ...]

    @property
    def may_launch(self) -> bool:
        """Whether nothing that was looked at speaks against a launch."""
        return all(line.standing is not Standing.STOP for line in self.lines)


def plan_campaign(
    dates: DateRange, regions: Sequence[str], *, now: datetime, ports: PlanPorts
) -> CampaignPlan:
    """Size the campaign over `dates` × `regions` as if it started now, and look before it leaps.

    A partition counts as done where the ledger has it so; a changed source is done again.
    """
    partitions = tuple(partitions_of(dates, regions))
    outputs = ports.facts.outputs(dates, regions)
    done = sum(_is_done(outputs.get(each)) for each in partitions)
    left = len(partitions) - done
    sizing = None
    if ports.each is not None:
        sizing = size_campaign(tasks=left, each=ports.each, room=ports.room, start=now)
    return CampaignPlan(
        total=len(partitions),
        done=done,
        each=ports.each,
        measure=ports.measure,
        room=ports.room,
        sizing=sizing,
        lines=_look(dates, partitions, left, sizing, now, ports),
    )


def _look(
    dates: DateRange,
    partitions: Sequence[Partition],
    left: int,
    sizing: Sizing | None,
    now: datetime,
    ports: PlanPorts,
) -> tuple[PreflightLine, ...]:
    landed = {day: ports.landed(day) for day in dates}
    missing = [str(each) for each in partitions if each.region not in landed[each.date]]
    signals = ports.signals()
    applied, measured_at = (None, None) if ports.applied is None else ports.applied
    facts = ports.facts
    return (
        judge_seam(dates, ports.calendar),
        judge_sources(
            landed=len(partitions) - len(missing), missing=missing, total=len(partitions)
        ),
        judge_room(kept_bytes=facts.partition_bytes() * left, free_bytes=facts.free_bytes()),
        judge_slots(ports.room, tasks=left, asked=ports.asked_cap, sizing=sizing),
        judge_contract(project_windows(dates, partitions, landed, ports)),
        judge_locks(facts.foreign_locks()),
        judge_signals(signals.unreadable, total=signals.total),
        judge_capacity(applied, measured_at=measured_at, now=now),
        judge_control(ports.paused_for),
    )


def _is_done(output: RegionOutput | None) -> bool:
    return (
        output is not None
        and output.status is PartitionStatus.DONE
        and output.output is OutputState.CURRENT
    )
