"""Which dates exist, and where the seam lies among them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date as Date
from datetime import datetime, timedelta, tzinfo

from forecast_backfill.core.partition import DateRange

CATCH_UP_NIGHTS = 7
"""How many nights before the latest one nightly still runs after an outage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """The partition dates `[first_date, latest_date]` and the seam, the first that nightly owns.

    Raises ValueError where `latest_date` lies before `first_date`.
    """

    first_date: Date
    latest_date: Date
    seam: Date

    def __post_init__(self) -> None:
        if self.latest_date < self.first_date:
            raise ValueError(f"the first date {self.first_date} is after {self.latest_date}")

    @property
    def dates(self) -> DateRange:
        """Every partition date, half-open."""
        return DateRange(start=self.first_date, end=self.latest_date + timedelta(days=1))


def latest_complete_date(*, now: datetime, zone: tzinfo) -> Date:
    """The last business date that has ended in `zone` at the instant `now` (aware)."""
    return now.astimezone(zone).date() - timedelta(days=1)


def build_calendar(
    *,
    first_date: Date,
    as_of: Date | None,
    pinned_seam: Date | None,
    now: datetime,
    zone: tzinfo,
    last_night: Date | None = None,
) -> Calendar:
    """The calendar at `now`: `as_of` replaces the latest date, a pinned seam the default.

    `last_night` is the last date that nightly has sealed, None where it has sealed none. Raises
    ValueError as Calendar does.
    """
    latest = as_of if as_of is not None else latest_complete_date(now=now, zone=zone)
    seam = pinned_seam
    if seam is None:
        seam = default_seam(first_date=first_date, latest_date=latest, last_night=last_night)
    return Calendar(first_date=first_date, latest_date=latest, seam=seam)


def default_seam(*, first_date: Date, latest_date: Date, last_night: Date | None) -> Date:
    """The date after the last night, and the latest date where nightly is up to date or never ran.

    After an outage the missed nights are nightly's still, so that they can be run in their order.
    Those of more than CATCH_UP_NIGHTS ago are history, which is backfill's.
    """
    if last_night is None:
        return latest_date
    oldest = max(first_date, latest_date - timedelta(days=CATCH_UP_NIGHTS))
    return min(latest_date, max(oldest, last_night + timedelta(days=1)))
