"""The range of partitions that a verb is given: `[--from, --to)` × `--regions`."""

from __future__ import annotations

from datetime import datetime, timedelta

import click

from forecast_backfill.core.calendar import Calendar
from forecast_backfill.core.errors import UsageRefused
from forecast_backfill.core.partition import DateRange
from forecast_backfill.settings import Settings

MOST_DATES = 3660
DATE = click.DateTime(["%Y-%m-%d"])


def dates_of(
    start: datetime | None, end: datetime | None, calendar: Calendar, *, verb: str
) -> DateRange:
    """The dates; without a start from the first one on, without an end up to the latest.

    Raises UsageRefused for a range without a date.
    """
    first = calendar.first_date if start is None else start.date()
    after = calendar.latest_date + timedelta(days=1) if end is None else end.date()
    if after <= first:
        raise _no_dates(f"{first} to {after}", verb)
    return DateRange(start=first, end=after)


def refuse_no_dates(start: datetime | None, end: datetime | None, *, verb: str) -> None:
    """Raise UsageRefused where both ends are given and hold no date."""
    if start is not None and end is not None and end <= start:
        raise _no_dates(f"{start.date()} to {end.date()}", verb)


def refuse_long(dates: DateRange, *, verb: str) -> None:
    """Raise UsageRefused for a range of more than ten years: a slip of the finger."""
    if len(dates) > MOST_DATES:
        raise UsageRefused(
            f"the range from {dates.start} to {dates.end} is too long",
            why=f"it holds {len(dates):,} dates, more than {MOST_DATES:,}",
            next_command=f"forecast-backfill {verb} --from … --to … with a shorter range",
        )


def regions_of(names: str, settings: Settings, *, verb: str) -> list[str] | None:
    """The regions named by commas, None for all of them. Raises UsageRefused for an unknown one."""
    if names.strip() == "all":
        return None
    chosen = [part.strip() for part in names.split(",") if part.strip()]
    unknown = [name for name in chosen if name not in settings.regions]
    if unknown or not chosen:
        raise UsageRefused(
            f"unknown region {unknown[0]!r}" if unknown else "no region was named",
            why=f"the setting FORECAST_BACKFILL_REGIONS names {', '.join(settings.regions)}",
            next_command=f"forecast-backfill {verb} --regions all (or names among those)",
        )
    return chosen


def _no_dates(shown: str, verb: str) -> UsageRefused:
    return UsageRefused(
        f"the range from {shown} holds no date",
        why="--to is exclusive and must be later than --from",
        next_command=f"forecast-backfill {verb} --from … --to …",
    )
