"""The deadline is the opening time of the next local morning, also where the clock changes."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from forecast_backfill.core.deadline import (
    AtRisk,
    Missed,
    NightProgress,
    OnTime,
    deadline_of,
    judge_deadline,
)
from forecast_backfill.core.publication import PublicationStatus

ZONE = ZoneInfo("America/New_York")
DEADLINE = datetime(2026, 11, 2, 11, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        (date(2026, 3, 6), datetime(2026, 3, 7, 11, tzinfo=UTC)),
        (date(2026, 3, 7), datetime(2026, 3, 8, 10, tzinfo=UTC)),
        (date(2026, 10, 30), datetime(2026, 10, 31, 10, tzinfo=UTC)),
        (date(2026, 10, 31), datetime(2026, 11, 1, 11, tzinfo=UTC)),
    ],
)
def test_six_in_the_morning_is_local_before_and_after_a_clock_change(day, expected):
    assert deadline_of(day, opening_time=time(6), zone=ZONE) == expected


def judge(now, *, sealed=None, published=None, status=None, warning=timedelta(minutes=45)):
    return judge_deadline(
        now=now,
        deadline=DEADLINE,
        warning=warning,
        progress=NightProgress(sealed_at=sealed, published_at=published, status=status),
    )


@pytest.mark.parametrize(
    ("minutes", "verdict"), [(-46, OnTime), (-45, AtRisk), (-1, AtRisk), (0, Missed), (90, Missed)]
)
def test_an_unpublished_night_is_on_time_then_at_risk_then_missed(minutes, verdict):
    assert isinstance(judge(DEADLINE + timedelta(minutes=minutes)), verdict)


def test_a_warning_is_counted_in_hours_that_pass_not_on_the_clock():
    """On 8 March the local hour from two to three is missing: 5 hours before 06:00 is midnight."""
    deadline = deadline_of(date(2026, 3, 7), opening_time=time(6), zone=ZONE)
    late = NightProgress(sealed_at=None, published_at=None, status=None)
    midnight = datetime(2026, 3, 8, 5, 0, tzinfo=UTC)
    judged = [
        judge_deadline(now=now, deadline=deadline, warning=timedelta(hours=5), progress=late)
        for now in (midnight - timedelta(minutes=1), midnight)
    ]
    assert [type(each) for each in judged] == [OnTime, AtRisk]


@pytest.mark.parametrize(
    ("minutes", "verdict"), [(-1, OnTime), (0, OnTime), (1, Missed), (200, Missed)]
)
def test_when_it_was_first_published_decides_for_good(minutes, verdict):
    published = DEADLINE + timedelta(minutes=minutes)
    judged = judge(
        DEADLINE + timedelta(days=2), published=published, status=PublicationStatus.FRESH
    )
    assert isinstance(judged, verdict)


@pytest.mark.parametrize(
    ("progress", "lacking"),
    [
        ({}, "it is not sealed yet"),
        ({"sealed": DEADLINE}, "it is sealed, and no forecast is published"),
        (
            {"sealed": DEADLINE, "status": PublicationStatus.KEPT},
            "no forecast of it could be published, the last night's are kept",
        ),
        (
            {"published": DEADLINE + timedelta(minutes=90)},
            "it was published 1 h 30 min after the deadline",
        ),
    ],
)
def test_a_miss_says_what_is_lacking(progress, lacking):
    assert judge(DEADLINE + timedelta(hours=4), **progress) == Missed(
        deadline=DEADLINE, lacking=lacking
    )
