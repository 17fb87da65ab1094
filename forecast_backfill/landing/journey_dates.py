"""Moves the year 2017 to where it is wanted: whole weeks, weekdays kept, local wall time kept."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date as Date
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from forecast_backfill.core.errors import UsageRefused

QUARTER_HOUR = np.timedelta64(15, "m")


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The landed dates `[first, last]`, and by how many whole weeks the data's dates are moved."""

    first: Date
    last: Date
    shift: timedelta

    def __post_init__(self) -> None:
        if self.shift % timedelta(weeks=1):
            raise ValueError(f"the shift {self.shift} is not of whole weeks")

    @property
    def days(self) -> int:
        """How many dates are landed."""
        return (self.last - self.first).days + 1


def choose_window(*, first_day: Date, last_day: Date, as_of: Date, days: int) -> Window:
    """The window of `days` dates that ends on `as_of`, cut from data on `[first_day, last_day]`.

    The latest data day on the weekday of `as_of` becomes `as_of`; up to six later days are not
    used. Raises UsageRefused where the data holds fewer days.
    """
    source_last = last_day - timedelta(days=(last_day.weekday() - as_of.weekday()) % 7)
    available = (source_last - first_day).days + 1
    if not 1 <= days <= available:
        raise UsageRefused(
            f"{days} days cannot be landed",
            why=f"up to {as_of} the data holds 1 to {available} days",
            next_command=f"forecast-backfill landing --days {min(91, available)}",
        )
    return Window(first=as_of - timedelta(days=days - 1), last=as_of, shift=as_of - source_last)


def iso_local(local: npt.NDArray[np.datetime64], zone: ZoneInfo) -> list[str]:
    """Naive local times as ISO 8601 with the offset of `zone` at that time.

    A time that the clocks skip keeps the offset of before, one that they repeat takes the first.
    """
    seconds = local.astype("datetime64[s]")
    quarters, positions = np.unique(
        (seconds - seconds.astype("datetime64[D]")) // QUARTER_HOUR * QUARTER_HOUR
        + seconds.astype("datetime64[D]"),
        return_inverse=True,
    )
    offsets = [_offset(moment, zone) for moment in quarters.astype("datetime64[s]").tolist()]
    texts = np.datetime_as_string(seconds).tolist()
    return [text + offsets[at] for text, at in zip(texts, positions.tolist(), strict=True)]


def _offset(moment: datetime, zone: ZoneInfo) -> str:
    return moment.replace(tzinfo=zone).isoformat()[19:]
