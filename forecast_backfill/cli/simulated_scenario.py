"""What `simulate` was asked for, completed from the settings and from what is on record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from forecast_backfill.core.errors import UsageRefused
from forecast_backfill.core.states import Workload
from forecast_backfill.settings import Settings
from forecast_backfill.simulation.compare import Scenario
from forecast_backfill.simulation.shapes import (
    EXAMPLE,
    Campaign,
    Night,
    parse_night,
    recorded_nights,
    scaled,
    spread_durations,
)
from forecast_backfill.warehouse.capacity import PostgresCapacity
from forecast_backfill.warehouse.outlook import capacity_basis
from forecast_backfill.wiring.partition import SystemClock, open_session

FITS = ("demand_model", "fit")
"""What the step is called, in Dagster and in examples, whose start is looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options of `simulate` as they were given; None where they were not."""

    tasks: int | None
    task_minutes: float | None
    task_p95_minutes: float | None
    slots: int | None
    peak: int | None
    headroom: int | None
    night: str | None
    fit: str | None
    deadline_minutes: float | None
    before_hours: float
    days: int
    seed: int | None


def build_scenario(settings: Settings, asked: Asked) -> Scenario:
    """The scenario; the database is opened only where something on record is needed.

    Raises UsageRefused where no night or no duration is known, or options contradict each other.
    """
    nights = _nights(settings, asked)
    basis = capacity_basis(settings)
    deadline = asked.deadline_minutes
    return Scenario(
        slots=settings.slots if asked.slots is None else asked.slots,
        nights=nights,
        first_night=asked.before_hours * 3600,
        deadline=basis.expected_length.total_seconds() if deadline is None else deadline * 60,
        fit=_fit(nights, asked.fit),
        campaign=_campaign(settings, asked),
        peak=asked.peak,
        headroom=settings.headroom if asked.headroom is None else asked.headroom,
        lead=settings.hold_lead,
        days=asked.days,
        seed=settings.seed if asked.seed is None else asked.seed,
    )


def _nights(settings: Settings, asked: Asked) -> tuple[Night, ...]:
    if asked.night is not None:
        return (parse_night(asked.night),)
    hours = capacity_basis(settings).hours
    with open_session(settings, Workload.BACKFILL) as session:
        steps = PostgresCapacity(session).last_nights(
            settings.capacity_nights, before=SystemClock().now().date() + timedelta(days=2)
        )
    found = recorded_nights(steps, hours)
    if not found:
        raise UsageRefused(
            "no night is on record",
            why="`forecast-backfill capacity` has read none from Dagster's runs",
            next_command=f"forecast-backfill simulate --night '{EXAMPLE}'",
        )
    return found


def _fit(nights: Sequence[Night], wanted: str | None) -> str:
    shapes = [task.shape for night in nights for stage in night for task in stage]
    for name in FITS if wanted is None else (wanted,):
        if name in shapes:
            return name
    if wanted is None:
        tasks = [task for night in nights for stage in night for task in stage]
        return max(tasks, key=lambda each: (each.slots, each.seconds)).shape
    raise UsageRefused(
        f"no night has a stage {wanted!r}",
        why=f"the stages are {', '.join(sorted(set(shapes)))}",
        next_command="forecast-backfill simulate --fit … (one of those)",
    )


def _campaign(settings: Settings, asked: Asked) -> Campaign:
    tasks = settings.window_days * len(settings.regions) if asked.tasks is None else asked.tasks
    if asked.task_minutes is None:
        return _recorded_campaign(settings, tasks)
    average = asked.task_minutes * 60
    p95 = average if asked.task_p95_minutes is None else asked.task_p95_minutes * 60
    if p95 < average:
        raise UsageRefused(
            f"a p95 of {p95 / 60:g} min below the average of {average / 60:g} min",
            why="one partition in twenty takes longer than the p95",
            next_command="forecast-backfill simulate --task-p95-minutes … (at least the average)",
        )
    return Campaign(tasks=tasks, durations=spread_durations(average, p95), p95=p95)


def _recorded_campaign(settings: Settings, tasks: int) -> Campaign:
    with open_session(settings, Workload.BACKFILL) as session:
        history = PostgresCapacity(session).task_history()
    if history is None:
        raise UsageRefused(
            "no partition's duration is on record",
            why="the ledger has not written any partition yet",
            next_command="forecast-backfill simulate --task-minutes 3",
        )
    durations = scaled(history.quantiles, history.average)
    return Campaign(tasks=tasks, durations=durations, p95=history.task_seconds.p95)
