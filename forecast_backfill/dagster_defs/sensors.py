"""The sensors: each looks at what is recorded, asks the core for a plan, and launches it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from dagster import (
    DefaultSensorStatus,
    RunRequest,
    SensorDefinition,
    SensorEvaluationContext,
    SkipReason,
    sensor,
)

from forecast_backfill.app.check_deadline import check_deadline
from forecast_backfill.app.notify import deliver_notices
from forecast_backfill.core.night_state import Stage
from forecast_backfill.core.states import Workload
from forecast_backfill.dagster_defs.determinism import prove_determinism
from forecast_backfill.dagster_defs.finished_campaigns import tell_of_campaigns
from forecast_backfill.dagster_defs.planned_runs import requests_of, selection_of
from forecast_backfill.dagster_defs.refused_writes import tell_of_refused_writes
from forecast_backfill.dagster_defs.situation import Planned, look_at_history, look_at_nights
from forecast_backfill.settings import Settings
from forecast_backfill.wiring.night import open_night
from forecast_backfill.wiring.partition import SystemClock

WATCH_SECONDS = 60
GRACE = timedelta(minutes=2)
"""How long the start of a night is left to the schedule."""
SENDS = 5
"""Notices sent in one look: a sensor has a minute, and a target may answer slowly."""

Ticks = Iterator[RunRequest | SkipReason]


def build_night_sensor(settings: Settings) -> SensorDefinition:
    """`night`: late files, missed nights, seal and fit, forecasts; all of it as nightly."""

    @sensor(
        name="night",
        asset_selection=selection_of(Stage.REGIONS, Stage.NIGHT, Stage.FORECAST),
        minimum_interval_seconds=settings.look_seconds,
        default_status=DefaultSensorStatus.RUNNING,
        description="Takes the oldest night that is not over one step further: late files, seal "
        "and fit, forecasts. A tick without a run says what it waits for.",
    )
    def night(context: SensorEvaluationContext) -> Ticks:
        now = SystemClock().now()
        yield from _ticks(look_at_nights(settings, context.instance, now, grace=GRACE))

    return night


def build_history_sensor(settings: Settings) -> SensorDefinition:
    """`history`: seals, refits and forecasts again what a campaign has changed; as backfill."""

    @sensor(
        name="history",
        asset_selection=selection_of(Stage.SEAL, Stage.REFIT, Stage.FORECAST, Stage.ACCURACY),
        minimum_interval_seconds=settings.look_seconds,
        default_status=DefaultSensorStatus.RUNNING,
        description="After a campaign: seals the dates that it changed, refits the windows that "
        "hold them, forecasts again, and measures accuracy again. A tick without a run says why.",
    )
    def history(context: SensorEvaluationContext) -> Ticks:
        yield from _ticks(look_at_history(settings, context.instance, SystemClock().now()))

    return history


def build_watch_sensor(settings: Settings) -> SensorDefinition:
    """`watch`: judges the deadline and sends the notices that are due; launches nothing."""

    @sensor(
        name="watch",
        minimum_interval_seconds=WATCH_SECONDS,
        default_status=DefaultSensorStatus.RUNNING,
        description="Deadlines of the nights, finished campaigns, what a shadow that is read "
        "refuses of nightly's, the delivery of notices; once a day a few done partitions are "
        "recomputed and compared byte by byte.",
    )
    def watch(context: SensorEvaluationContext) -> SkipReason:
        with open_night(settings, workload=Workload.NIGHTLY, run_id="watch") as wiring:
            now = SystemClock().now()
            due = check_deadline(now, ports=wiring.ports)
            tell_of_campaigns(wiring, now)
            tell_of_refused_writes(wiring)
            sent = deliver_notices(ports=wiring.ports, limit=SENDS)
            today = str(now.astimezone(settings.zone).date())
            proved = ""
            if context.cursor != today:
                proved = f"; determinism: {prove_determinism(wiring, today)}"
                context.update_cursor(today)
        return SkipReason(
            f"{len(due)} deadline notices due; {sent.sent} sent, {sent.failed} failed, "
            f"{sent.abandoned} given up, {sent.unaddressed} without a target{proved}"
        )

    return watch


def _ticks(planned: Planned) -> Ticks:
    plan, launches = planned
    yield from requests_of(plan, launches)
    if not plan.launches:
        yield SkipReason("; ".join(plan.reasons) or "nothing is due")
