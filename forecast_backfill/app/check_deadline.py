"""Tell when a night is about to miss its deadline, and when it has."""

from __future__ import annotations

from datetime import date as Date
from datetime import datetime, timedelta

from forecast_backfill.app.notice_text import deadline_notice
from forecast_backfill.app.notify import queue_notice
from forecast_backfill.core.calendar import latest_complete_date
from forecast_backfill.core.deadline import (
    AtRisk,
    Missed,
    OnTime,
    deadline_of,
    judge_deadline,
)
from forecast_backfill.core.notice import Notice
from forecast_backfill.ports.night import NightPorts

LOOK_BACK_DAYS = 3
"""Nights that are looked at: the latest, and those before it that an outage may have hidden."""


def check_deadline(now: datetime, *, ports: NightPorts) -> list[Notice]:
    """The notices that are due at the instant `now` (aware); each is queued, and sent once only.

    Every night is judged by the seal and publication of its own date. With a calendar that is
    pinned to an earlier date nothing is due.
    """
    notices: list[Notice] = []
    for day in _nights(now, ports):
        verdict = judge_deadline(
            now=now,
            deadline=deadline_of(day, opening_time=ports.opening_time, zone=ports.zone),
            warning=ports.deadline_warning,
            progress=ports.publications.progress(day),
        )
        match verdict:
            case OnTime():
                pass
            case AtRisk() | Missed():
                notices.append(deadline_notice(day, verdict))
    for notice in notices:
        queue_notice(notice, ports=ports)
    return notices


def _nights(now: datetime, ports: NightPorts) -> list[Date]:
    latest = latest_complete_date(now=now, zone=ports.zone)
    days = [latest - timedelta(days=back) for back in reversed(range(LOOK_BACK_DAYS))]
    # Nightly owns the seam and what follows; nights before it were never its own.
    return [day for day in days if ports.calendar.seam <= day <= ports.calendar.latest_date]
