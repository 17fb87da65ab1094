"""What a plan needs of the world, and what it is told before it begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date as Date
from datetime import datetime
from typing import Protocol

from forecast_backfill.core.calendar import Calendar
from forecast_backfill.core.capacity_measure import CapacityMeasure
from forecast_backfill.core.completeness import CompletenessContract
from forecast_backfill.core.partition import DateRange, Partition
from forecast_backfill.core.preflight import ForeignLock
from forecast_backfill.core.seal import RegionOutput
from forecast_backfill.core.sizing import Room, TaskSeconds


class PlanFacts(Protocol):
    """What is recorded; nothing is changed."""

    def outputs(
        self, dates: DateRange, regions: Sequence[str]
    ) -> Mapping[Partition, RegionOutput]: ...

    def partition_bytes(self) -> int: ...

    def free_bytes(self) -> int | None: ...

    def foreign_locks(self) -> Sequence[ForeignLock]: ...

    def windows_over(self, dates: DateRange) -> Sequence[Date]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Readability:
    """How many signals there are, and why some cannot be read, by name."""

    total: int
    unreadable: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanPorts:
    """Everything that a plan is handed. `applied` is the measure that was stored last, and when.

    `landed` gives the regions whose delivery of a date is complete, `signals` looks at all of them;
    `paused_for` is the reason where on-call has paused the workload, `asked_cap` the cap that was
    set by hand; None where neither is.
    """

    facts: PlanFacts
    landed: Callable[[Date], frozenset[str]]
    signals: Callable[[], Readability]
    calendar: Calendar
    contract: CompletenessContract
    regions: Sequence[str]
    opened: Mapping[str, Date]
    measure: CapacityMeasure
    applied: tuple[CapacityMeasure, datetime] | None
    paused_for: str | None
    asked_cap: int | None
    room: Room
    each: TaskSeconds | None
