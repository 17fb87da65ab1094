"""The promotions of every week that a forecast reaches are decided before it is made."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from datetime import date as Date

import pytest

from forecast_backfill.landing.journey_promotions import recorded_at
from forecast_backfill.landing.layout import monday_of

MONDAY = Date(2026, 11, 2)


@pytest.mark.parametrize("weekday", range(7))
def test_all_weeks_of_a_horizon_of_fourteen_days_are_known_at_its_origin(weekday: int):
    origin = MONDAY + timedelta(days=weekday)
    is_over = datetime.combine(origin + timedelta(days=1), time(0, tzinfo=UTC))
    weeks = {monday_of(origin + timedelta(days=ahead)) for ahead in range(1, 15)}
    assert max(recorded_at(week) for week in weeks) < is_over


def test_no_week_is_known_longer_ahead_than_that():
    assert recorded_at(MONDAY) == datetime(2026, 10, 18, 12, tzinfo=UTC)
