"""Whether a partition task may start now and in how many slots, or for what it has to wait."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from forecast_backfill.core.capacity import cap_for
from forecast_backfill.core.hold import HoldWindow, holds_at, next_hold_start
from forecast_backfill.core.pace import Pace
from forecast_backfill.core.states import Workload


class WaitCause(StrEnum):
    """What a task waits for; every waited second is counted for one of them."""

    PAUSE = "pause"
    CAP = "cap"
    PACE = "pace"
    RATE = "rate"
    SEAM = "seam"
    HOLD = "hold"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """All that admission is decided by, as of the one moment `now` of the database's clock.

    `cap` counts the slots that on-call asked for, None is automatic; `nightly_peak` is what nightly
    was measured to hold at most, headroom included. `reason` is why it is paused, `cap_reason` why
    that cap was asked for. `holds` are the windows in which slots are held for nightly, `reserved`
    the slots of nightly fits that are due or running, or that nightly tasks wait for.
    `partition_seconds` is how long a partition of backfill takes at the 95th percentile. `rate` is
    rows a second, None without a limit.
    """

    now: datetime
    epoch: int
    is_paused: bool
    reason: str
    cap: int | None
    slots: int
    nightly_peak: int
    reserved: int
    holds: tuple[HoldWindow, ...]
    pace: Pace
    partition_seconds: float
    cap_reason: str = ""
    rate: int | None = None

    @property
    def cap_in_force(self) -> int:
        """The slots that backfill may hold at most, before holds and pace."""
        return cap_for(slots=self.slots, nightly_peak=self.nightly_peak, asked=self.cap)


@dataclass(frozen=True, slots=True, kw_only=True)
class Admit:
    """Any slot with an index below `limit` may be taken."""

    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Nothing may start now; `reason` is fit for an operator."""

    cause: WaitCause
    reason: str


def admit(workload: Workload, conditions: Conditions) -> Admit | Wait:
    """Judge a task of `workload`; the first cause that keeps it back is the one that is named.

    Nightly knows only its own pause: cap, pace and holds are there for its sake.
    """
    if conditions.is_paused:
        return Wait(cause=WaitCause.PAUSE, reason=f"paused: {conditions.reason}")
    if workload is Workload.NIGHTLY:
        return Admit(limit=conditions.slots)
    pace = conditions.pace
    if pace.level.is_stopped:
        return Wait(cause=WaitCause.PACE, reason=f"{pace.level}: {pace.reason}")
    cap = conditions.cap_in_force
    if cap == 0:
        return Wait(cause=WaitCause.CAP, reason=_why_no_cap(conditions))
    free = _beside_nightly(conditions, cap)
    if isinstance(free, Wait):
        return free
    # A slow pace still moves: a share of less than one slot is one slot.
    return Admit(limit=max(1, int(min(cap * pace.share, free))))


def _beside_nightly(conditions: Conditions, cap: int) -> int | Wait:
    """The slots of the cap that no hold and no fit needs, for as long as a partition takes."""
    now = conditions.now
    held = max(holds_at(now, conditions.holds), conditions.reserved)
    free = min(cap, conditions.slots - held)
    if free <= 0:
        return Wait(
            cause=WaitCause.HOLD,
            reason=f"{held} of {conditions.slots} slots are held for nightly",
        )
    begins = next_hold_start(now, conditions.holds)
    if begins is None or begins - now >= timedelta(seconds=conditions.partition_seconds):
        return free
    left = min(free, conditions.slots - holds_at(begins, conditions.holds))
    if left <= 0:
        return Wait(
            cause=WaitCause.HOLD,
            reason=f"slots are held for nightly from {begins:%H:%M} UTC, and a partition may take "
            f"{conditions.partition_seconds:.0f} s",
        )
    return left


def _why_no_cap(conditions: Conditions) -> str:
    if conditions.cap is not None:
        return f"the cap is 0: {conditions.cap_reason or conditions.reason}"
    return (
        f"the automatic cap is 0: nightly's peak of {conditions.nightly_peak} needs all "
        f"{conditions.slots} slots"
    )
