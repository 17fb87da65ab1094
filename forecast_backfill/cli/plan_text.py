"""A plan as lines for people and as the fields of `--json`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from forecast_backfill.app.plan_campaign import CampaignPlan
from forecast_backfill.cli.progress_text import clock
from forecast_backfill.core.partition import DateRange
from forecast_backfill.core.preflight import Standing
from forecast_backfill.core.sizing import HORIZON, Sizing, TaskSeconds

SHOWN_PARTS = 5
BEYOND = f"in more than {HORIZON.days} days"


def lines_of(plan: CampaignPlan, dates: DateRange, regions: tuple[str, ...]) -> Iterator[str]:
    """The plan, then the preflight: whatever does not pass has the next command under it."""
    last = dates.end - timedelta(days=1)
    named = ", ".join(regions[:6]) + (" …" if len(regions) > 6 else "")
    yield f"range       {dates.start} to {last}, {len(regions)} regions ({named})"
    yield f"tasks       {plan.total - plan.done} of {plan.total} ({plan.done} done already)"
    yield f"a task      {_each(plan.each)}"
    yield f"cap         {plan.room.cap} of {plan.room.slots} slots; {plan.measure.reason}"
    if plan.sizing is not None:
        yield from _sizing(plan.sizing)
    yield ""
    yield "preflight"
    for line in plan.lines:
        shown = line.standing.value if line.standing is Standing.PASS else line.standing.upper()
        yield f"  {shown:<5} {line.name:<14} {line.told}"
        if line.next_command is not None:
            yield f"        next: {line.next_command}"


def as_fields(plan: CampaignPlan, dates: DateRange, regions: tuple[str, ...]) -> dict[str, object]:
    """The plan for `--json`; times in seconds, instants in ISO 8601."""
    return {
        "from": dates.start.isoformat(),
        "to": dates.end.isoformat(),
        "regions": list(regions),
        "partitions": plan.total,
        "done": plan.done,
        "tasks": plan.total - plan.done,
        "average_seconds": None if plan.each is None else plan.each.average,
        "p95_seconds": None if plan.each is None else plan.each.p95,
        "slots": plan.room.slots,
        "peak": plan.measure.peak,
        "headroom": plan.measure.headroom,
        "cap": plan.room.cap,
        "sizing": None if plan.sizing is None else _fields_of(plan.sizing),
        "preflight": [
            {
                "name": line.name,
                "standing": line.standing.value,
                "told": line.told,
                "next_command": line.next_command,
            }
            for line in plan.lines
        ],
        "may_launch": plan.may_launch,
    }


def _each(each: TaskSeconds | None) -> str:
    if each is None:
        return "no partition's duration is on record: give --task-minutes"
    return f"{_span(each.average)} on average, {_span(each.p95)} at p95 ({each.source})"


def _sizing(sizing: Sizing) -> Iterator[str]:
    waves = "" if sizing.waves is None else f", {sizing.waves} waves"
    shortest, longest = _after(sizing, sizing.earliest), _after(sizing, sizing.latest)
    yield f"wall clock  {shortest} to {longest}{waves}, {_span(sizing.task_seconds)} of work"
    if sizing.latest is not None:
        yield f"ends        {sizing.latest:%Y-%m-%d %H:%M} UTC at the latest, if it starts now"
    yield f"advice      {sizing.advice}"
    if sizing.is_split:
        for part in sizing.parts[:SHOWN_PARTS]:
            when = f"{part.start:%Y-%m-%d %H:%M} to {part.end:%Y-%m-%d %H:%M} UTC"
            yield f"              {when}: {part.tasks} tasks"


def _fields_of(sizing: Sizing) -> dict[str, object]:
    return {
        "waves": sizing.waves,
        "work_seconds": sizing.task_seconds,
        "shortest_seconds": _seconds(sizing, sizing.earliest),
        "longest_seconds": _seconds(sizing, sizing.latest),
        "ends_at": None if sizing.latest is None else sizing.latest.isoformat(),
        "split": sizing.is_split,
        "parts": [
            {
                "from": part.start.isoformat(),
                "to": part.end.isoformat(),
                "tasks": part.tasks,
            }
            for part in sizing.parts
        ],
        "advice": sizing.advice,
    }


def _seconds(sizing: Sizing, end: datetime | None) -> float | None:
    return None if end is None else (end - sizing.start).total_seconds()


def _after(sizing: Sizing, end: datetime | None) -> str:
    return BEYOND if end is None else clock(_seconds(sizing, end))


def _span(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < 10 else clock(seconds)
