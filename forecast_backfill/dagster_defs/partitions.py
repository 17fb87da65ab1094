"""How the assets are partitioned: daily dates in the chain's time zone times static regions."""

from __future__ import annotations

from datetime import datetime, time, timedelta

from dagster import (
    DailyPartitionsDefinition,
    MultiPartitionsDefinition,
    StaticPartitionsDefinition,
)

from forecast_backfill.core.calendar import Calendar
from forecast_backfill.dagster_defs.partition_keys import DATE_DIMENSION, REGION_DIMENSION
from forecast_backfill.settings import Settings


def build_dates(settings: Settings, calendar: Calendar) -> DailyPartitionsDefinition:
    """Every date that is over since the first; `as_of`, where it is set, is the last one.

    The time zone is part of the definition's identity: another one orphans what is materialized.
    """
    end = None if settings.as_of is None else settings.as_of + timedelta(days=1)
    return DailyPartitionsDefinition(
        start_date=datetime.combine(calendar.first_date, time()),
        end_date=None if end is None else datetime.combine(end, time()),
        timezone=settings.time_zone,
    )


def build_date_regions(settings: Settings, calendar: Calendar) -> MultiPartitionsDefinition:
    """The partitions of everything that is date × region."""
    return MultiPartitionsDefinition(
        {
            DATE_DIMENSION: build_dates(settings, calendar),
            REGION_DIMENSION: StaticPartitionsDefinition(list(settings.regions)),
        }
    )
