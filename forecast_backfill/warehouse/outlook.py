"""What recent nights say of now: the slots that nightly needs, and when they are held."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from forecast_backfill.core.capacity_measure import (
    CapacityBasis,
    CapacityMeasure,
    PeakSource,
    in_force,
)
from forecast_backfill.core.hold import HoldWindow, holds_for, tonight_of
from forecast_backfill.core.night_profile import NightProfile
from forecast_backfill.core.night_state import NightHours
from forecast_backfill.core.off_peak import closed_windows
from forecast_backfill.settings import Settings
from forecast_backfill.settings.capacity import Reservation
from forecast_backfill.warehouse.capacity import PostgresCapacity
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.control import NightOutlook

FRESH = timedelta(seconds=2)
"""How long an outlook is used again; as long as a turned knob may take to be felt."""

TASKS_FRESH = timedelta(seconds=60)


def night_hours(settings: Settings) -> NightHours:
    """When nights begin."""
    return NightHours(
        nightly_time=settings.nightly_time,
        cut_off_time=settings.cut_off_time,
        zone=settings.zone,
    )


def capacity_basis(settings: Settings, *, headroom: int | None = None) -> CapacityBasis:
    """What a measure starts from; `headroom` in the place of the setting's."""
    begin, opening = (
        timedelta(hours=each.hour, minutes=each.minute)
        for each in (settings.nightly_time, settings.opening_time)
    )
    return CapacityBasis(
        hours=night_hours(settings),
        slots=settings.slots,
        headroom=settings.headroom if headroom is None else headroom,
        configured_peak=settings.nightly_peak,
        expected_length=opening - begin,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    until: datetime
    outlook: NightOutlook


class PostgresOutlook:
    """The outlook at an instant, over one session; what was read serves again for two seconds."""

    def __init__(self, session: Session, settings: Settings) -> None:
        self._capacity = PostgresCapacity(session)
        self._settings = settings
        self._kept: _Kept | None = None
        self._seconds = 0.0
        self._seconds_until: datetime | None = None

    def __call__(self, now: datetime) -> NightOutlook:
        """The slots that nightly needs, when they are held, and how long a partition takes."""
        if self._kept is None or now >= self._kept.until:
            self._kept = _Kept(until=now + FRESH, outlook=self._read(now))
        return self._kept.outlook

    def _read(self, now: datetime) -> NightOutlook:
        stored = self._capacity.latest()
        measure = in_force(None if stored is None else stored[0], capacity_basis(self._settings))
        return NightOutlook(
            peak=always_reserved(measure, self._settings),
            holds=holds_of(self._capacity, measure, self._settings, now),
            partition_seconds=self._partition_seconds(now),
        )

    def _partition_seconds(self, now: datetime) -> float:
        if self._seconds_until is None or now >= self._seconds_until:
            history = self._capacity.task_history()
            self._seconds = 0.0 if history is None else history.task_seconds.p95
            self._seconds_until = now + TASKS_FRESH
        return self._seconds


def always_reserved(measure: CapacityMeasure, settings: Settings) -> int:
    """Slots that backfill may hold at no hour: peak and headroom, or by night the headroom only.

    A peak that was not measured is kept free at all hours: nothing tells when it is needed.
    """
    by_night = settings.reservation is Reservation.NIGHT
    if by_night and measure.source is PeakSource.NIGHTS:
        return measure.headroom
    return measure.reserved


def holds_of(
    capacity: PostgresCapacity,
    measure: CapacityMeasure,
    settings: Settings,
    now: datetime,
    *,
    nights: int = 1,
) -> tuple[HoldWindow, ...]:
    """The holds of tonight, of the next `nights`, and of the calendar."""
    hours = night_hours(settings)
    tonight = tonight_of(now, hours, settings.hold_lead)
    return holds_for(
        now,
        hours=hours,
        lead=settings.hold_lead,
        profile=_with_headroom(measure),
        has_ended_tonight=capacity.is_night_over(tonight),
        calendar=closed_windows(
            now, settings.backfill_hours, zone=settings.zone, slots=settings.slots, days=nights + 7
        ),
        nights=nights,
    )


def _with_headroom(measure: CapacityMeasure) -> NightProfile:
    steps = measure.profile.steps
    raised = tuple((since, slots + measure.headroom if slots else 0) for since, slots in steps)
    return replace(measure.profile, steps=raised)
