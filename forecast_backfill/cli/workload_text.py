"""How a workload is going, as lines and as fields of `--json`: what was asked for, and what is."""

from __future__ import annotations

from dataclasses import dataclass

from forecast_backfill.app.operate import InForce, in_force, motion_of
from forecast_backfill.cli.progress_text import clock
from forecast_backfill.cli.turning import knob_fields
from forecast_backfill.core.admission import Conditions
from forecast_backfill.core.states import Workload
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.control import Change, Knobs, list_changes, read_knobs
from forecast_backfill.warehouse.leases import Flight, list_flights
from forecast_backfill.warehouse.waits import WaitSum, sum_waits
from forecast_backfill.wiring.control import control_of

SHOWN_CHANGES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadState:
    """The knobs of a workload, and what is the case."""

    workload: Workload
    knobs: Knobs
    conditions: Conditions
    in_force: InForce
    flights: tuple[Flight, ...]
    waits: tuple[WaitSum, ...]
    changes: tuple[Change, ...]


def read_workload(session: Session, settings: Settings, workload: Workload) -> WorkloadState:
    """Read all of it, now."""
    conditions = control_of(settings, session).conditions(workload)
    return WorkloadState(
        workload=workload,
        knobs=read_knobs(session, workload),
        conditions=conditions,
        in_force=in_force(workload, conditions),
        flights=list_flights(session, workload),
        waits=sum_waits(session, workload),
        changes=list_changes(session, workload, limit=SHOWN_CHANGES),
    )


def workload_lines(state: WorkloadState) -> list[str]:
    """What on-call has to know first: a headline, who is held and why, the last turn of a knob."""
    motion = motion_of(is_paused=state.conditions.is_paused, in_flight=len(state.flights))
    now = state.in_force
    lines = [
        f"{state.workload:<10} {motion} · {len(state.flights)} in flight · "
        f"may hold {now.slots} ({now.reason})"
    ]
    if state.workload is Workload.BACKFILL:
        rate = state.knobs.rate
        pace = state.conditions.pace
        told = f": {pace.reason}" if pace.reason else ""
        limit = "no limit" if rate is None else f"{rate:,} rows/s"
        lines.append(
            f"           pace {pace.level}{told} · rate {limit} · epoch {state.knobs.epoch}"
        )
    for each in state.waits:
        if each.held:
            runs = "run" if each.held == 1 else "runs"
            lines.append(f"           held: {each.held} {runs} by {each.cause}: {each.reason}")
    for change in state.changes[:1]:
        lines.append(
            f"           last: {change.verb} by {change.changed_by} "
            f"{change.at:%Y-%m-%d %H:%M:%S} UTC: {change.reason}"
        )
    return lines


def workload_fields(state: WorkloadState) -> dict[str, object]:
    """All of it for `--json`: `asked` is the intent, the rest is the fact."""
    conditions = state.conditions
    motion = motion_of(is_paused=conditions.is_paused, in_flight=len(state.flights))
    cause = state.in_force.cause
    return {
        "motion": motion.value,
        "asked": knob_fields(state.knobs),
        "in_force": {
            "slots": state.in_force.slots,
            "cause": None if cause is None else cause.value,
            "reason": state.in_force.reason,
        },
        "slots": conditions.slots,
        "nightly_peak": conditions.nightly_peak,
        "reserved_for_fit": conditions.reserved,
        "pace": {
            "level": conditions.pace.level.value,
            "share": conditions.pace.share,
            "chunk_rows": conditions.pace.chunk_rows,
            "reason": conditions.pace.reason,
        },
        "in_flight": [
            {"slot": each.index, "backend": each.pid, "holder": each.holder}
            for each in state.flights
        ],
        "waits": wait_fields(state.waits),
        "changes": [
            {
                "at": each.at.isoformat(),
                "verb": each.verb,
                "epoch": each.epoch,
                "intent": each.intent,
                "cap": each.cap,
                "rate": each.rate,
                "reason": each.reason,
                "changed_by": each.changed_by,
            }
            for each in state.changes
        ],
    }


def wait_fields(waits: tuple[WaitSum, ...]) -> dict[str, object]:
    """Waits by cause: seconds so far, how many runs are held by it now, and why."""
    return {
        each.cause.value: {
            "seconds": round(each.seconds, 1),
            "held": each.held,
            "reason": each.reason,
        }
        for each in waits
    }


def waited_text(waits: tuple[WaitSum, ...]) -> str:
    """Waited times by cause, the longest first; empty where nothing was waited for."""
    longest = sorted(waits, key=lambda each: -each.seconds)
    return ", ".join(f"{each.cause} {clock(each.seconds)}" for each in longest if each.seconds >= 1)
