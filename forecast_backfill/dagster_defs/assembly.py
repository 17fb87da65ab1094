"""Assembles the definitions from the settings, and says at load what is wrong with one."""

from __future__ import annotations

from dagster import Definitions, in_process_executor

from forecast_backfill.dagster_defs.assets import build_daily_demand, build_pos_sales
from forecast_backfill.dagster_defs.partitions import build_date_regions
from forecast_backfill.settings import Settings
from forecast_backfill.wiring import SystemClock, calendar_of, load_engine


def build_definitions(settings: Settings) -> Definitions:
    """Everything that Dagster loads.

    Raises SettingRefused where the first date lies after the latest complete one.
    """
    partitions = build_date_regions(settings, calendar_of(settings, SystemClock()))
    return Definitions(
        assets=[
            build_pos_sales(partitions),
            build_daily_demand(settings, partitions, load_engine(settings).code_version),
        ],
        # One process a run: a batch has one step, and a process for it costs over a second.
        executor=in_process_executor,
    )
