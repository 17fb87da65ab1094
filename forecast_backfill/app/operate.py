"""What on-call is shown of a workload: what was asked for, what is the case, and what is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from forecast_backfill.core.admission import Admit, Conditions, Wait, WaitCause, admit
from forecast_backfill.core.states import Workload


class Motion(StrEnum):
    """Whether a workload moves: between the wish to pause and the pause, tasks in flight end."""

    RUNNING = "running"
    PAUSING = "pausing"
    PAUSED = "paused"


def motion_of(*, is_paused: bool, in_flight: int) -> Motion:
    """What the wish and the slots that are held come to together."""
    if not is_paused:
        return Motion.RUNNING
    return Motion.PAUSING if in_flight else Motion.PAUSED


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """The slots that a workload may hold now; `cause` is why it may hold none, where that is known.

    `reason` says where the number comes from, fit for an operator.
    """

    slots: int
    cause: WaitCause | None
    reason: str


def in_force(workload: Workload, conditions: Conditions) -> InForce:
    """What admission would allow a task now, and why."""
    verdict = admit(workload, conditions)
    match verdict:
        case Wait(cause=cause, reason=reason):
            return InForce(slots=0, cause=cause, reason=reason)
        case Admit(limit=limit):
            return InForce(slots=limit, cause=None, reason=_why(workload, conditions, limit))


def _why(workload: Workload, conditions: Conditions, limit: int) -> str:
    if workload is Workload.NIGHTLY:
        return f"nightly may hold all {conditions.slots} slots"
    if conditions.cap is None:
        reason = f"{conditions.slots} slots less {conditions.nightly_peak} for nightly"
    else:
        reason = f"a cap of {conditions.cap} was asked for: {conditions.cap_reason}"
    if limit == conditions.cap_in_force:
        return reason
    if conditions.pace.share < 1:
        return f"{reason}; pace {conditions.pace.level}: {conditions.pace.reason}"
    return f"{reason}; the others are held for nightly"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLeft:
    """Seconds that are left, split into work and, by cause, waiting."""

    work: float
    waiting: Mapping[WaitCause, float]


def split_time_left(
    eta_seconds: float | None, *, worked: float, waited: Mapping[WaitCause, float]
) -> TimeLeft | None:
    """Split what is left as the time so far was split; None where it is not known."""
    total = worked + sum(waited.values())
    if eta_seconds is None or total <= 0:
        return None
    return TimeLeft(
        work=eta_seconds * worked / total,
        waiting={
            cause: eta_seconds * seconds / total for cause, seconds in waited.items() if seconds > 0
        },
    )
