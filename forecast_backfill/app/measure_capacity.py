"""Measure the slots that nightly needs over recent nights, and put the cap in force."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date as Date
from datetime import datetime, timedelta
from typing import Protocol

from forecast_backfill.core.capacity_measure import (
    CapacityBasis,
    CapacityMeasure,
    measure_capacity,
)
from forecast_backfill.core.peak import NightStep, night_of

LOOK_BACK_FACTOR = 2
"""Nights without a run (a machine that was off) are looked past: twice as many dates are read."""


class NightStore(Protocol):
    """Where recorded nights and measured caps are kept."""

    def keep(self, steps: Sequence[NightStep]) -> None:
        """Record the steps; one that is recorded already is corrected."""
        ...

    def last_nights(self, nights: int, *, before: Date) -> Sequence[NightStep]:
        """The steps of the last nights on record that began before the date."""
        ...

    def store(self, measure: CapacityMeasure, *, by: str) -> datetime:
        """Store the measure as the one in force; when."""
        ...


NightHistory = Callable[[datetime], Sequence[NightStep]]
"""The steps of nightly's runs since an instant, by whoever ran them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityPorts:
    """What a measure needs: the runs, the store, what is configured, and how many nights count."""

    history: NightHistory
    store: NightStore
    basis: CapacityBasis
    nights: int


def measure(now: datetime, *, ports: CapacityPorts) -> CapacityMeasure:
    """Record what nightly's runs held of late, then measure over the last nights on record.

    The night that is under way counts with what it has held so far. What is idle now is not asked.
    """
    ports.store.keep(ports.history(now - ports.nights * LOOK_BACK_FACTOR * timedelta(days=1)))
    tomorrow = night_of(now, ports.basis.hours) + timedelta(days=1)
    return measure_capacity(ports.store.last_nights(ports.nights, before=tomorrow), ports.basis)


def measure_and_apply(now: datetime, *, by: str, ports: CapacityPorts) -> CapacityMeasure:
    """Measure, and put the measure in force: from then on the automatic cap follows from it.

    `by` names the person or schedule that applies it.
    """
    measured = measure(now, ports=ports)
    ports.store.store(measured, by=by)
    return measured
