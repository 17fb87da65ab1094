"""Assembles the definitions from the settings, and says at load what is wrong with one."""

from __future__ import annotations

from dagster import Definitions, in_process_executor

from forecast_backfill.dagster_defs.assets import build_daily_demand, build_pos_sales
from forecast_backfill.dagster_defs.forecast_assets import (
    build_demand_forecast,
    build_forecast_accuracy,
)
from forecast_backfill.dagster_defs.night_assets import (
    build_demand_model,
    build_demand_seal,
    build_training_window,
)
from forecast_backfill.dagster_defs.partitions import build_date_regions, build_dates
from forecast_backfill.dagster_defs.schedules import build_nightly_schedule
from forecast_backfill.dagster_defs.sensors import (
    build_history_sensor,
    build_night_sensor,
    build_watch_sensor,
)
from forecast_backfill.dagster_defs.spark_runs import spark_resources
from forecast_backfill.settings import Settings
from forecast_backfill.wiring.partition import SystemClock, calendar_of, load_engine


def build_definitions(settings: Settings) -> Definitions:
    """Everything that Dagster loads.

    Raises SettingRefused where the first date lies after the latest complete one.
    """
    calendar = calendar_of(settings, SystemClock())
    partitions, dates = build_date_regions(settings, calendar), build_dates(settings, calendar)
    return Definitions(
        assets=[
            build_pos_sales(partitions),
            build_daily_demand(settings, partitions, load_engine(settings).code_version),
            build_demand_seal(settings, dates),
            build_training_window(settings, dates),
            build_demand_model(settings, dates),
            build_demand_forecast(settings, partitions),
            build_forecast_accuracy(settings, partitions),
        ],
        schedules=[build_nightly_schedule(settings)],
        sensors=[
            build_night_sensor(settings),
            build_history_sensor(settings),
            build_watch_sensor(settings),
        ],
        resources=spark_resources(settings),
        # One process a run: a batch has one step, and a process for it costs over a second.
        executor=in_process_executor,
    )
