"""What is looked at before a campaign is launched: each line passes, or says what to do next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date as Date
from datetime import datetime, timedelta
from enum import StrEnum
from typing import assert_never

from forecast_backfill.core.calendar import Calendar
from forecast_backfill.core.capacity_measure import FEWEST_NIGHTS, CapacityMeasure, PeakSource
from forecast_backfill.core.completeness import Accepted, Degraded, NeedsOverride, Refused, Verdict
from forecast_backfill.core.partition import DateRange
from forecast_backfill.core.sizing import Room, Sizing

OLDEST_MEASURE = timedelta(days=14)
SHOWN = 3
ROOM_FACTOR = 2
"""The kept rows, and the new rows beside the old ones until these are vacuumed."""


class Standing(StrEnum):
    """Good; worth a look before launching; or a reason not to launch."""

    PASS = "pass"
    LOOK = "look"
    STOP = "stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreflightLine:
    """One thing that was looked at; everything but a pass has a next command."""

    name: str
    standing: Standing
    told: str
    next_command: str | None = None

    def __post_init__(self) -> None:
        if (self.standing is Standing.PASS) != (self.next_command is None):
            raise ValueError(f"{self.name} stands at {self.standing}, next {self.next_command}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignLock:
    """A session that is not ours and whose lock on `daily_demand` keeps writers out."""

    pid: int
    user: str
    application: str
    mode: str
    since: datetime | None


def judge_seam(dates: DateRange, calendar: Calendar) -> PreflightLine:
    """Whether every date exists and is backfill's."""
    if dates.start < calendar.first_date:
        return _stop(
            "seam",
            f"{dates.start} is before the first date {calendar.first_date}",
            f"forecast-backfill plan --from {calendar.first_date} …",
        )
    if dates.end > calendar.seam:
        return _stop(
            "seam",
            f"nightly owns {calendar.seam} and every later date",
            f"forecast-backfill plan … --to {calendar.seam} (the end is exclusive)",
        )
    return _pass("seam", f"all dates lie before the seam {calendar.seam}")


def judge_sources(*, landed: int, missing: Sequence[str], total: int) -> PreflightLine:
    """Whether the sources are landed with their manifests; `missing` names the others."""
    if not missing:
        return _pass("sources", f"all {total} are landed with their manifests")
    named = _first(missing, ", ")
    told = f"{len(missing)} of {total} have no manifest and would be quarantined: {named}"
    next_command = "wait for the delivery, or leave them out (--from, --to, --regions)"
    if landed == 0:
        return _stop("sources", told, next_command)
    return _look("sources", told, next_command)


def judge_room(*, kept_bytes: int, free_bytes: int | None) -> PreflightLine:
    """Whether replaced rows can be kept for a rollback; None where the disk is elsewhere."""
    needed = kept_bytes * ROOM_FACTOR
    if free_bytes is None:
        return _look(
            "rollback room",
            f"the disk of the database cannot be seen from here; up to {_size(needed)} are needed",
            "df -h (on the database's server)",
        )
    told = f"up to {_size(needed)} of {_size(free_bytes)} free are needed"
    if needed > free_bytes:
        return _stop("rollback room", told, "free disk space, or plan a smaller range")
    return _pass("rollback room", told)


def judge_contract(verdicts: Mapping[Date, Verdict]) -> PreflightLine:
    """How windows, by their last date, will be judged once the campaign is done."""
    if not verdicts:
        return _pass("contract", "no window that is in use reaches into the range")
    refused: list[str] = []
    for day, verdict in sorted(verdicts.items()):
        match verdict:
            case Accepted() | Degraded():
                continue
            case NeedsOverride(reasons=reasons) | Refused(reasons=reasons):
                refused.append(f"{day}: {_first(reasons, '; ')}")
            case _:
                assert_never(verdict)
    if not refused:
        return _pass("contract", f"windows over the range that will be taken: all {len(verdicts)}")
    return _look(
        "contract",
        f"{len(refused)} of {len(verdicts)} windows will not be fitted: {_first(refused, ' · ')}",
        "forecast-backfill quarantine list, and the deliveries that are missing",
    )


def judge_slots(
    room: Room, *, tasks: int, asked: int | None, sizing: Sizing | None
) -> PreflightLine:
    """Whether anything could ever run; `asked` is the cap that on-call set, None for the automatic.

    A cap of 0 that a person set is a wait, as a pause is; what follows from peak and holds is none.
    """
    told = f"{room.cap} of {room.slots} for backfill"
    if tasks == 0:
        return _pass("slots", f"{told}; nothing is left to do")
    if room.cap == 0 and asked == 0:
        return _look(
            "slots", f"{told}, as asked: it waits", "forecast-backfill cap auto --reason …"
        )
    more = "export FORECAST_BACKFILL_SLOTS=… with more, or plan --slots … --peak …"
    if room.cap == 0:
        return _stop("slots", f"{told}, nightly needs the others: nothing would ever run", more)
    if sizing is not None and not sizing.parts:
        return _stop("slots", f"{told}, but {sizing.advice}", more)
    return _pass("slots", told)


def judge_locks(locks: Sequence[ForeignLock]) -> PreflightLine:
    """Whether anybody else keeps writers of `daily_demand` out."""
    if not locks:
        return _pass("locks", "nobody else keeps writers of daily_demand out")
    first = locks[0]
    since = "" if first.since is None else f" since {first.since:%H:%M} UTC"
    who = f"{first.user} ({first.application or 'no name'}, pid {first.pid})"
    return _stop(
        "locks",
        f"{len(locks)} foreign locks on daily_demand; {who} holds {first.mode}{since}",
        f"ask {first.user} to end it, or: SELECT pg_terminate_backend({first.pid})",
    )


def judge_signals(unreadable: Mapping[str, str], *, total: int) -> PreflightLine:
    """Whether every signal of the pace can be read; `unreadable` says why by name."""
    if total == 0:
        return _look(
            "signals",
            "no signal of production's health is read: the campaign will not slow by itself",
            "watch production yourself; forecast-backfill pause stops it within 2 s",
        )
    if not unreadable:
        return _pass("signals", f"all {total} can be read")
    named = "; ".join(f"{name}: {why}" for name, why in sorted(unreadable.items()))
    return _stop(
        "signals",
        f"{len(unreadable)} of {total} cannot be read, which counts as unhealthy: {named}",
        "forecast-backfill status (shows the pace and its signals)",
    )


def judge_capacity(
    measure: CapacityMeasure | None, *, measured_at: datetime | None, now: datetime
) -> PreflightLine:
    """Whether the nightly peak was measured, over enough nights and of late."""
    apply = "forecast-backfill capacity --apply"
    if measure is None or measured_at is None:
        return _look("capacity", "the nightly peak was never measured, the setting counts", apply)
    if measure.source is PeakSource.SETTING:
        told = (
            f"measured over {measure.nights} nights, {FEWEST_NIGHTS} are needed; the setting counts"
        )
        return _look("capacity", told, apply)
    if now - measured_at > OLDEST_MEASURE:
        days = (now - measured_at).days
        return _look("capacity", f"the nightly peak was measured {days} days ago", apply)
    return _pass("capacity", f"peak {measure.peak} of {measure.nights} nights")


def judge_control(paused_for: str | None) -> PreflightLine:
    """Whether on-call lets the workload run; `paused_for` is the reason where it is paused."""
    if paused_for is None:
        return _pass("control", "backfill is not paused")
    return _look(
        "control", f"backfill is paused: {paused_for}", "forecast-backfill resume --reason …"
    )


def _pass(name: str, told: str) -> PreflightLine:
    return PreflightLine(name=name, standing=Standing.PASS, told=told)


def _look(name: str, told: str, next_command: str) -> PreflightLine:
    return PreflightLine(name=name, standing=Standing.LOOK, told=told, next_command=next_command)


def _stop(name: str, told: str, next_command: str) -> PreflightLine:
    return PreflightLine(name=name, standing=Standing.STOP, told=told, next_command=next_command)


def _first(names: Sequence[str], between: str) -> str:
    return between.join(names[:SHOWN]) + (" …" if len(names) > SHOWN else "")


def _size(count: int) -> str:
    for unit, power in (("GB", 3), ("MB", 2), ("kB", 1)):
        if count >= 1000**power:
            return f"{count / 1000**power:.1f} {unit}"
    return f"{count} bytes"
