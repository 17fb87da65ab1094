"""What history needs after it changed: seals, then refits, then forecasts, then accuracy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date as Date

from forecast_backfill.core.calendar import Calendar
from forecast_backfill.core.night_plan import digest_of, nights_of
from forecast_backfill.core.night_state import (
    NOTHING_RECORDED,
    DateState,
    Freshness,
    Launch,
    PastLaunches,
    Plan,
    Stage,
)
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import Workload

WIDEST_GAP = 14
"""How many dates that need no seal one run takes along between two that do."""
MOST_LAUNCHES = 20
"""How many runs one look at history launches; the next look goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistorySituation:
    """All that a plan of history is made from; `campaign` tells who still changes it, or None."""

    calendar: Calendar
    regions: Sequence[str]
    states: Mapping[Date, DateState]
    launches: PastLaunches
    campaign: str | None
    horizon_days: int


def plan_history(situation: HistorySituation) -> Plan:
    """The launches of the first step that has any; a later step waits for all of an earlier one.

    So a campaign leads to one seal a date and one fit a window, however many dates of the window
    it changed. Nights that are not over are left to themselves.
    """
    if situation.campaign is not None:
        return Plan(reasons=(f"waits for the end of {situation.campaign}",))
    days = _settled_days(situation)
    steps: tuple[tuple[Stage, Callable[[], list[Launch]]], ...] = (
        (Stage.SEAL, lambda: _seals(days, situation)),
        (Stage.REFIT, lambda: _refits(days, situation)),
        (Stage.FORECAST, lambda: _forecasts(days, situation)),
        (Stage.ACCURACY, lambda: _accuracies(days, situation)),
    )
    for stage, find in steps:
        launches = [each for each in find() if situation.launches.is_allowed(each)]
        if launches:
            return Plan(launches=tuple(launches[:MOST_LAUNCHES]))
        if situation.launches.has_active(stage, Workload.BACKFILL):
            return Plan(reasons=(f"waits for the {stage} runs that are under way",))
    return Plan(reasons=("history is as it was sealed, fitted and forecast",))


def pending_history(situation: HistorySituation) -> str | None:
    """Why history is not ready for a first fit; None where nothing is under way."""
    if situation.campaign is not None:
        return f"{situation.campaign} is running"
    plan = plan_history(situation)
    sealing = [each for each in plan.launches if each.stage is Stage.SEAL]
    if sealing or situation.launches.has_active(Stage.SEAL, Workload.BACKFILL):
        return "dates before it are being sealed"
    return None


def _settled_days(situation: HistorySituation) -> list[DateState]:
    """The dates that nightly does not work on."""
    nights = set(nights_of(situation.calendar, situation.states))
    return [
        state
        for day, state in sorted(situation.states.items())
        if day not in nights or state.is_closed
    ]


def _seals(days: Sequence[DateState], situation: HistorySituation) -> list[Launch]:
    """Runs over stretches of dates whose ledger content is another than their seal's.

    A few sealed dates in between are sealed again, which changes nothing: a run costs more.
    """
    stretches: list[list[DateState]] = []
    between: list[DateState] = []
    for state in days:
        if not _needs_seal(state):
            between.append(state)
            continue
        gap = [each.date for each in between]
        if stretches and _bridges(stretches[-1][-1].date, gap, state.date):
            stretches[-1].append(state)
        else:
            stretches.append([state])
        between = []
    return [
        _launch(
            Stage.SEAL,
            stretch[0].date,
            stretch[-1].date,
            f"content {digest_of([each.content for each in stretch])}",
            situation,
        )
        for stretch in stretches
    ]


def _needs_seal(state: DateState) -> bool:
    if state.seal is Freshness.ABSENT:
        return state.content != NOTHING_RECORDED
    return state.seal is Freshness.OUTDATED


def _bridges(first: Date, gap: Sequence[Date], last: Date) -> bool:
    """Whether the sealed dates of the gap, and few, are all that lies between the two."""
    missing = (last - first).days - 1
    return len(gap) == missing <= WIDEST_GAP


def _refits(days: Sequence[DateState], situation: HistorySituation) -> list[Launch]:
    """Windows that were judged before and whose seals say something else now."""
    return [
        _launch(Stage.REFIT, each.date, each.date, f"seals {each.window_seals}", situation)
        for each in days
        if each.window is Freshness.OUTDATED
    ]


def _forecasts(days: Sequence[DateState], situation: HistorySituation) -> list[Launch]:
    """Dates that readers see, or whose night was refused, and that have another model by now."""
    return [
        _launch(Stage.FORECAST, each.date, each.date, f"model {each.model}", situation)
        for each in days
        if (each.is_published or each.is_night)
        and each.window is Freshness.CURRENT
        and each.is_trainable
        and each.is_model_of_window
        and each.model != each.published_model
    ]


def _accuracies(days: Sequence[DateState], situation: HistorySituation) -> list[Launch]:
    """Forecasts of which a day, a week or the whole horizon is in since they were measured."""
    milestones = sorted({each for each in (1, 7) if each < situation.horizon_days})
    launches: list[Launch] = []
    for each in days:
        reached = [
            days for days in (*milestones, situation.horizon_days) if days <= each.known_days
        ]
        if each.has_own_forecast and reached and each.measured_days < reached[-1]:
            cause = f"{reached[-1]} days known"
            launches.append(_launch(Stage.ACCURACY, each.date, each.date, cause, situation))
    return launches


def _launch(
    stage: Stage, first: Date, last: Date, cause: str, situation: HistorySituation
) -> Launch:
    return Launch(
        stage=stage,
        workload=Workload.BACKFILL,
        first=Partition(date=first, region=situation.regions[0]),
        last=Partition(date=last, region=situation.regions[-1]),
        cause=cause,
    )
