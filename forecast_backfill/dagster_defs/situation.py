"""Gathers what the plans look at: the ledger, the landing, the clock and Dagster's runs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date as Date
from datetime import datetime, timedelta

from dagster import DagsterInstance

from forecast_backfill.core.calendar import Calendar, build_calendar
from forecast_backfill.core.history_plan import HistorySituation, pending_history, plan_history
from forecast_backfill.core.night_plan import NightSituation, nights_of, plan_night
from forecast_backfill.core.night_state import DateState, NightHours, PastLaunches, Plan
from forecast_backfill.core.states import Workload
from forecast_backfill.dagster_defs.planned_runs import past_launches, running_campaign
from forecast_backfill.landing.arrivals import landed_regions
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.date_states import last_night, read_date_states
from forecast_backfill.wiring.partition import open_session

Planned = tuple[Plan, PastLaunches]


def look_at_nights(
    settings: Settings, instance: DagsterInstance, now: datetime, *, grace: timedelta
) -> Planned:
    """The plan of the nights at the instant `now`, and the runs that it was made with."""
    launches = past_launches(instance, Workload.NIGHTLY, now)
    calendar, states = _recorded(settings, Workload.NIGHTLY, now)
    is_first = not any(state.is_published for state in states.values())
    history = _history(settings, instance, now, calendar, states) if is_first else None
    plan = plan_night(
        NightSituation(
            now=now,
            hours=NightHours(
                nightly_time=settings.nightly_time,
                cut_off_time=settings.cut_off_time,
                zone=settings.zone,
            ),
            calendar=calendar,
            regions=settings.regions,
            states=states,
            landed={
                day: landed_regions(settings.landing_directory, day, settings.regions)
                for day in nights_of(calendar, states)
            },
            launches=launches,
            is_first=is_first,
            history_pending=None if history is None else pending_history(history),
            grace=grace,
        )
    )
    return plan, launches


def look_at_history(settings: Settings, instance: DagsterInstance, now: datetime) -> Planned:
    """The plan of history at the instant `now`, and the runs that it was made with."""
    calendar, states = _recorded(settings, Workload.BACKFILL, now)
    situation = _history(settings, instance, now, calendar, states)
    return plan_history(situation), situation.launches


def _history(
    settings: Settings,
    instance: DagsterInstance,
    now: datetime,
    calendar: Calendar,
    states: Mapping[Date, DateState],
) -> HistorySituation:
    return HistorySituation(
        calendar=calendar,
        regions=settings.regions,
        states=states,
        launches=past_launches(instance, Workload.BACKFILL, now),
        campaign=running_campaign(instance),
        horizon_days=settings.horizon_days,
    )


def _recorded(
    settings: Settings, workload: Workload, now: datetime
) -> tuple[Calendar, Mapping[Date, DateState]]:
    with open_session(settings, workload) as session:
        states = read_date_states(
            session, regions=settings.regions, horizon_days=settings.horizon_days
        )
        calendar = build_calendar(
            first_date=settings.first_date,
            as_of=settings.as_of,
            pinned_seam=settings.seam,
            now=now,
            zone=settings.zone,
            last_night=last_night(session),
        )
    return calendar, states
