"""The slots that nightly needs, measured over recent nights, and the cap that follows from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from forecast_backfill.core.capacity import cap_for
from forecast_backfill.core.night_profile import NightProfile, flat_profile, profile_of
from forecast_backfill.core.night_state import NightHours
from forecast_backfill.core.peak import NightStep, by_night, sweep

FEWEST_NIGHTS = 3
"""A peak of fewer nights is chance."""


class PeakSource(StrEnum):
    """Where the peak comes from: measured nights, or the setting."""

    NIGHTS = "nights"
    SETTING = "setting"


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityBasis:
    """What is known without any night: slots, headroom, the configured peak, and when nights are.

    `expected_length` is how long a night is thought to take where none was measured.
    """

    hours: NightHours
    slots: int
    headroom: int
    configured_peak: int
    expected_length: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityMeasure:
    """What nightly needs of `slots`: `peak` at once, over `nights` nights on record.

    `by_shape` has the most slots of each kind of step by itself, `together` what was held when the
    peak was first reached, at `peak_at`; all three are empty where the peak is the setting's.
    `reason` says in words where the peak comes from.
    """

    slots: int
    headroom: int
    nights: int
    source: PeakSource
    peak: int
    peak_at: datetime | None
    by_shape: Mapping[str, int]
    together: Mapping[str, int]
    profile: NightProfile
    reason: str

    @property
    def reserved(self) -> int:
        """Slots that backfill may not hold: peak and headroom."""
        return self.peak + self.headroom

    @property
    def cap(self) -> int:
        """Slots that backfill may hold: slots less peak and headroom, never below 0."""
        return cap_for(slots=self.slots, nightly_peak=self.reserved, asked=None)


def measure_capacity(steps: Iterable[NightStep], basis: CapacityBasis) -> CapacityMeasure:
    """Measure over the recorded steps; of fewer than FEWEST_NIGHTS nights take what is configured.

    Nothing here looks at what is idle now: a night that begins later needs its slots all the same.
    """
    nights = by_night(steps)
    if len(nights) < FEWEST_NIGHTS:
        return _configured(len(nights), basis)
    peak = sweep(usage for usages in nights.values() for usage in usages)
    begins = {night: basis.hours.begins_at(night - timedelta(days=1)) for night in nights}
    return CapacityMeasure(
        slots=basis.slots,
        headroom=basis.headroom,
        nights=len(nights),
        source=PeakSource.NIGHTS,
        peak=peak.slots,
        peak_at=peak.at,
        by_shape=peak.by_shape,
        together=peak.together,
        profile=profile_of(nights, begins),
        reason=f"the most that nightly held at once in {_nights(len(nights))}",
    )


def in_force(stored: CapacityMeasure | None, basis: CapacityBasis) -> CapacityMeasure:
    """The measure that was applied last, with the slots that there are now.

    Its headroom stays the one that it was applied with. Where it was not measured over nights, or
    nothing is stored, the configured peak counts.
    """
    if stored is None:
        return _configured(0, basis)
    if stored.source is PeakSource.SETTING:
        return replace(_configured(stored.nights, basis), headroom=stored.headroom)
    return replace(stored, slots=basis.slots)


def _configured(nights: int, basis: CapacityBasis) -> CapacityMeasure:
    peak = basis.configured_peak
    return CapacityMeasure(
        slots=basis.slots,
        headroom=basis.headroom,
        nights=nights,
        source=PeakSource.SETTING,
        peak=peak,
        peak_at=None,
        by_shape={},
        together={},
        profile=flat_profile(peak, basis.expected_length),
        reason=f"{_nights(nights)} on record, fewer than {FEWEST_NIGHTS}: "
        f"the configured peak of {peak} is used",
    )


def _nights(number: int) -> str:
    return "1 night" if number == 1 else f"{number} nights"
