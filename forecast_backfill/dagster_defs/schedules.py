"""The nightly schedule: one tick a local night, on every day of the year."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

from dagster import (
    DefaultScheduleStatus,
    RunRequest,
    ScheduleDefinition,
    ScheduleEvaluationContext,
    SkipReason,
    schedule,
)

from forecast_backfill.core.night_state import Stage
from forecast_backfill.dagster_defs.planned_runs import requests_of, selection_of
from forecast_backfill.dagster_defs.situation import look_at_nights
from forecast_backfill.settings import Settings

NIGHTLY = "nightly"


def build_nightly_schedule(settings: Settings) -> ScheduleDefinition:
    """Launches the night's regions at the setting `nightly_time`, in the chain's time zone.

    The time never lies between 01:00 and 03:00, so a clock change neither skips nor doubles it.
    """
    at = settings.nightly_time

    @schedule(
        name=NIGHTLY,
        cron_schedule=f"{at.minute} {at.hour} * * *",
        execution_timezone=settings.time_zone,
        target=selection_of(Stage.REGIONS),
        default_status=DefaultScheduleStatus.RUNNING,
        description="Starts the night: builds the regions of the oldest night that is not over. "
        "The sensor `night` does the rest.",
    )
    def nightly(context: ScheduleEvaluationContext) -> Iterator[RunRequest | SkipReason]:
        now = context.scheduled_execution_time
        plan, launches = look_at_nights(settings, context.instance, now, grace=timedelta())
        regions = tuple(each for each in plan.launches if each.stage is Stage.REGIONS)
        yield from requests_of(replace(plan, launches=regions), launches)
        if not regions:
            yield SkipReason("; ".join(plan.reasons) or "the night sensor goes on")

    return nightly
