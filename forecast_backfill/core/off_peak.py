"""The hours in which backfill may run by the calendar; outside of them every slot is held."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from datetime import date as Date
from datetime import time as Time

from forecast_backfill.core.hold import HoldWindow

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
DAYS_BACK = 2
_PART = re.compile(
    r"(?:(?P<first>[A-Z][a-z]{2})(?:-(?P<last>[A-Z][a-z]{2}))? )?"
    r"(?P<start>\d\d:\d\d)-(?P<end>\d\d:\d\d)"
)
EXAMPLE = "Mon-Fri 20:00-06:00, Sat-Sun 00:00-24:00"


@dataclass(frozen=True, slots=True, kw_only=True)
class OffPeakHours:
    """On `weekdays` (0 is Monday) from `start` for `minutes`, local times; may pass midnight."""

    weekdays: frozenset[int]
    start: Time
    minutes: int


def parse_hours(text: str) -> tuple[OffPeakHours, ...]:
    """Read hours such as EXAMPLE; without days every day is meant, and 24:00 is midnight.

    Raises ValueError where a part cannot be meant.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return tuple(_parse(part) for part in parts)


def closed_windows(
    now: datetime, hours: Sequence[OffPeakHours], *, zone: tzinfo, slots: int, days: int = 8
) -> tuple[HoldWindow, ...]:
    """The windows from two days before `now` to `days` after it in which backfill may not run.

    None where no hours are given: then it always may.
    """
    if not hours:
        return ()
    today = now.astimezone(zone).date()
    first, last = today - timedelta(days=DAYS_BACK), today + timedelta(days=days)
    closed_from, end = _instant(first, Time(), zone), _instant(last, Time(), zone)
    found: list[HoldWindow] = []
    for start, stop in sorted(_open(first, last, hours, zone)):
        if start > closed_from:
            found.append(_closed(closed_from, start, slots))
        closed_from = max(closed_from, stop)
    if end > closed_from:
        found.append(_closed(closed_from, end, slots))
    return tuple(found)


def _open(
    first: Date, last: Date, hours: Sequence[OffPeakHours], zone: tzinfo
) -> list[tuple[datetime, datetime]]:
    days = [first + timedelta(days=number) for number in range((last - first).days)]
    found: list[tuple[datetime, datetime]] = []
    for day in days:
        for each in hours:
            if day.weekday() in each.weekdays:
                begin = datetime.combine(day, each.start)
                ends = begin + timedelta(minutes=each.minutes)
                span = _instant(day, each.start, zone), _instant(ends.date(), ends.time(), zone)
                found.append(span)
    return found


def _closed(start: datetime, end: datetime, slots: int) -> HoldWindow:
    return HoldWindow(
        start=start, end=end, slots=slots, reason="backfill may not run at this hour (settings)"
    )


def _instant(day: Date, at: Time, zone: tzinfo) -> datetime:
    return datetime.combine(day, at, tzinfo=zone).astimezone(UTC)


def _parse(part: str) -> OffPeakHours:
    found = _PART.fullmatch(part)
    if found is None:
        raise ValueError(f"{part!r} is not hours such as {EXAMPLE}")
    first, last = found["first"], found["last"]
    unknown = [day for day in (first, last) if day is not None and day not in DAYS]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is none of {', '.join(DAYS)}")
    start, end = _minute(found["start"]), _minute(found["end"])
    if start == 24 * 60:
        raise ValueError(f"{part!r} begins at 24:00; write 00:00 of the next day")
    return OffPeakHours(
        weekdays=_weekdays(first, last),
        start=Time(start // 60, start % 60),
        minutes=(end - start - 1) % (24 * 60) + 1,
    )


def _weekdays(first: str | None, last: str | None) -> frozenset[int]:
    if first is None:
        return frozenset(range(7))
    begin = DAYS.index(first)
    length = (DAYS.index(first if last is None else last) - begin) % 7
    return frozenset((begin + number) % 7 for number in range(length + 1))


def _minute(text: str) -> int:
    hour, minute = int(text[:2]), int(text[3:])
    if minute > 59 or hour * 60 + minute > 24 * 60:
        raise ValueError(f"{text} is no time of day")
    return hour * 60 + minute
