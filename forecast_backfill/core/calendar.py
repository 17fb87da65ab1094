"""Which dates exist, and where the seam lies among them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date as Date
from datetime import datetime, timedelta, tzinfo

from forecast_backfill.core.partition import DateRange


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
    *, first_date: Date, as_of: Date | None, pinned_seam: Date | None, now: datetime, zone: tzinfo
) -> Calendar:
    """The calendar at `now`: `as_of` replaces the latest date, a pinned seam the default.

    Raises ValueError as Calendar does.
    """
    latest = as_of if as_of is not None else latest_complete_date(now=now, zone=zone)
    seam = pinned_seam if pinned_seam is not None else latest
    return Calendar(first_date=first_date, latest_date=latest, seam=seam)
