"""The deadline of a night: seal and publication of a date are due when the stores open."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from datetime import date as Date
from datetime import time as Time

from forecast_backfill.core.publication import PublicationStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class NightProgress:
    """How far the night of a date got: when it was sealed, and first published as its own."""

    sealed_at: datetime | None
    published_at: datetime | None
    status: PublicationStatus | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OnTime:
    """Nothing to tell: it is published, or there is time enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AtRisk:
    """The deadline is near and the night is not published."""

    deadline: datetime
    lacking: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """The deadline is over, and the night was not published by then."""

    deadline: datetime
    lacking: str


def deadline_of(day: Date, *, opening_time: Time, zone: tzinfo) -> datetime:
    """When forecasts made from `day` are due: the opening time of the next local morning."""
    return datetime.combine(day + timedelta(days=1), opening_time, tzinfo=zone)


def judge_deadline(
    *, now: datetime, deadline: datetime, warning: timedelta, progress: NightProgress
) -> OnTime | AtRisk | Missed:
    """Judge one night by its own progress; what was done for other dates does not matter.

    Last night's forecasts kept are not this night's: they do not meet the deadline.
    """
    published = progress.published_at
    if published is not None and published <= deadline:
        return OnTime()
    if now >= deadline:
        return Missed(deadline=deadline, lacking=_lacking(progress, deadline))
    if now >= deadline.astimezone(UTC) - warning:
        return AtRisk(deadline=deadline, lacking=_lacking(progress, deadline))
    return OnTime()


def _lacking(progress: NightProgress, deadline: datetime) -> str:
    if progress.published_at is not None:
        late = progress.published_at - deadline
        return f"it was published {_duration(late)} after the deadline"
    if progress.status is PublicationStatus.KEPT:
        return "no forecast of it could be published, the last night's are kept"
    if progress.sealed_at is None:
        return "it is not sealed yet"
    return "it is sealed, and no forecast is published"


def _duration(span: timedelta) -> str:
    minutes = max(1, round(span.total_seconds() / 60))
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
