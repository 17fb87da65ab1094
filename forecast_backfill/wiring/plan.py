"""Builds what a plan needs: facts, signals, and the room that a campaign has now or would have."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from forecast_backfill.app.plan_ports import PlanPorts, Readability
from forecast_backfill.core.capacity import cap_for
from forecast_backfill.core.capacity_measure import CapacityMeasure, in_force, measure_capacity
from forecast_backfill.core.signal import Unreadable
from forecast_backfill.core.sizing import Room, TaskSeconds
from forecast_backfill.core.states import Workload
from forecast_backfill.landing.arrivals import landed_regions
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.capacity import PostgresCapacity
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.outlook import always_reserved, capacity_basis, holds_of
from forecast_backfill.warehouse.statements import statements
from forecast_backfill.wiring.lakehouse import plan_facts_of
from forecast_backfill.wiring.pace import pace_ports
from forecast_backfill.wiring.partition import SystemClock, calendar_in

NIGHTS_AHEAD = 31


@dataclass(frozen=True, slots=True, kw_only=True)
class Supposed:
    """What is supposed in the place of what is set and measured; None leaves that as it is."""

    slots: int | None = None
    peak: int | None = None
    task_minutes: float | None = None


def plan_ports(
    settings: Settings, session: Session, *, now: datetime, supposed: Supposed
) -> PlanPorts:
    """The ports of a plan at `now` (aware UTC), over one session."""
    capacity = PostgresCapacity(session)
    applied = capacity.latest()
    with session.use() as connection:
        knobs = statements().read_conditions(connection, workload=Workload.BACKFILL)
    is_supposed = supposed.slots is not None or supposed.peak is not None
    machine = settings
    if supposed.slots is not None:
        machine = settings.model_copy(update={"slots": supposed.slots})
    measure = _measure(machine, None if applied is None else applied[0], supposed)
    asked = None if is_supposed else knobs["cap"]
    return PlanPorts(
        facts=plan_facts_of(settings, session),
        landed=lambda day: landed_regions(settings.landing_directory, day, settings.regions),
        signals=lambda: _look_at_signals(settings, session),
        calendar=calendar_in(session, settings, SystemClock()),
        contract=settings.contract,
        regions=settings.regions,
        opened=settings.opened_regions,
        measure=measure,
        applied=applied,
        paused_for=knobs["reason"] if knobs["intent"] == "paused" else None,
        asked_cap=asked,
        room=Room(
            slots=machine.slots,
            cap=cap_for(
                slots=machine.slots, nightly_peak=always_reserved(measure, machine), asked=asked
            ),
            holds=holds_of(capacity, measure, machine, now, nights=NIGHTS_AHEAD),
        ),
        each=_task_seconds(capacity, supposed),
    )


def _measure(
    machine: Settings, stored: CapacityMeasure | None, supposed: Supposed
) -> CapacityMeasure:
    if supposed.peak is None:
        return in_force(stored, capacity_basis(machine))
    given = machine.model_copy(update={"nightly_peak": supposed.peak})
    return measure_capacity((), capacity_basis(given))


def _task_seconds(capacity: PostgresCapacity, supposed: Supposed) -> TaskSeconds | None:
    if supposed.task_minutes is not None:
        seconds = supposed.task_minutes * 60
        return TaskSeconds(average=seconds, p95=seconds, source="as given")
    history = capacity.task_history()
    return None if history is None else history.task_seconds


def _look_at_signals(settings: Settings, session: Session) -> Readability:
    looks = pace_ports(settings, session).signals.look({})
    readings = {each.name: each.look.reading for each in looks}
    return Readability(
        total=len(readings),
        unreadable={
            name: reading.reason
            for name, reading in readings.items()
            if isinstance(reading, Unreadable)
        },
    )
