"""Forecasts are complete only with every series and horizon day once, finite and not negative."""

from datetime import date, timedelta

import pytest

from forecast_backfill.core.forecast import (
    ForecastComplete,
    ForecastIncomplete,
    ForecastRow,
    fingerprint_of,
    judge_forecast,
)
from forecast_backfill.core.partition import Partition

PARTITION = Partition(date=date(2026, 11, 1), region="R01")


def row(group, ahead, milliunits=1500):
    return ForecastRow(
        demand_group=group,
        target_date=PARTITION.date + timedelta(days=ahead),
        milliunits=milliunits,
    )


GOOD = [row(group, ahead) for group in ("MILK", "SOUP") for ahead in (1, 2)]


def judge(rows, groups=("MILK", "SOUP")):
    return judge_forecast(PARTITION, rows=rows, groups=groups, horizon_days=2)


def test_every_series_and_day_once_is_complete():
    judged = judge(GOOD)
    assert isinstance(judged, ForecastComplete)
    assert (judged.fingerprint.rows, judged.fingerprint.milliunits) == (4, 6000)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (GOOD[1:], "1 forecasts are missing: MILK on 2026-11-02"),
        ([*GOOD, GOOD[3]], "1 forecasts are there more than once: SOUP on 2026-11-03"),
        ([*GOOD, row("MILK", 3)], "1 forecasts were not asked for: MILK on 2026-11-04"),
        ([*GOOD, row("BREAD", 1)], "1 forecasts were not asked for: BREAD on 2026-11-02"),
        ([*GOOD[1:], row("MILK", 1, None)], "1 forecasts are not finite: MILK on 2026-11-02"),
        ([*GOOD[1:], row("MILK", 1, -1)], "1 forecasts are negative: MILK on 2026-11-02"),
    ],
)
def test_anything_else_is_named(rows, reason):
    assert judge(rows) == ForecastIncomplete(reasons=(reason,))


def test_zero_is_a_forecast():
    assert isinstance(judge([*GOOD[1:], row("MILK", 1, 0)]), ForecastComplete)


def test_forecasts_of_no_series_are_not_complete():
    assert judge([], groups=()) == ForecastIncomplete(reasons=("there is no active series",))


def test_the_fingerprint_does_not_depend_on_the_order_of_rows():
    assert fingerprint_of(PARTITION, GOOD) == fingerprint_of(PARTITION, GOOD[::-1])


def test_values_that_changed_places_change_the_fingerprint():
    first = [row("MILK", 1, 1), row("MILK", 2, 2)]
    second = [row("MILK", 1, 2), row("MILK", 2, 1)]
    assert fingerprint_of(PARTITION, first) != fingerprint_of(PARTITION, second)
