"""Measured accuracy, on numbers that can be checked by hand."""

from dataclasses import replace
from datetime import timedelta

import pytest

from forecast_backfill.app.measure_accuracy import measure_accuracy
from forecast_backfill.core.forecast import ForecastRow, fingerprint_of
from forecast_backfill.core.partition import Partition
from forecast_backfill.ports.night_values import Accuracy, NotMeasured
from forecast_backfill_tests.app.nights import (
    GROUPS,
    LAST,
    execute,
    fetch,
    fill,
    night,
    quarantine,
    settings_for,
)

PARTITION = Partition(date=LAST, region="R01")
AHEAD = [LAST + timedelta(days=each) for each in range(1, 15)]


@pytest.fixture
def wiring(database_url, tmp_path):
    """Four weeks in which MILK sold 4 a day and 6 on the last seven days; nothing else sold."""
    fill(database_url, first=LAST - timedelta(days=27))
    execute(
        database_url, "DELETE FROM daily_demand WHERE demand_group <> 'MILK' OR store_id = 's2'"
    )
    execute(database_url, "UPDATE daily_demand SET units = 4")
    execute(
        database_url, "UPDATE daily_demand SET units = 6 WHERE date > %s", LAST - timedelta(days=7)
    )
    with night(settings_for(database_url, tmp_path)) as opened:
        yield opened


def store_forecast(wiring, units):
    """The forecast of every horizon day: `units` of MILK, none of the others."""
    rows = [
        ForecastRow(
            demand_group=group,
            target_date=day,
            milliunits=round(1000 * units) if group == "MILK" else 0,
        )
        for group in GROUPS
        for day in AHEAD
    ]
    with wiring.ports.forecasts.transaction(PARTITION, wiring.request()) as transaction:
        transaction.replace(rows, fingerprint_of(PARTITION, rows).data_version)
        transaction.complete(fingerprint_of(PARTITION, rows), "m1")


def sell(url, day, units):
    """MILK sold so many on that day in R01; the day is complete in every region."""
    fill(url, first=day, last=day)
    execute(
        url,
        "DELETE FROM daily_demand WHERE date = %s AND (demand_group <> 'MILK' OR store_id = 's2')",
        day,
    )
    execute(url, "UPDATE daily_demand SET units = %s WHERE date = %s", units, day)


def measure(wiring):
    return measure_accuracy(PARTITION, request=wiring.request(), ports=wiring.ports)


def test_scores_on_two_known_days(wiring, database_url):
    """Forecast 5 and 5, sold 4 and 8: errors 1 and 3 of 12; the naive says 6 and 6: 2 and 2.

    Seasonal steps of the history: 14 of 0 and 7 of 2 for MILK, 42 of 0 for the others; the mean
    square is 28/63. Squared errors: 1 and 9 over six series days, 10/6. √(10/6 ÷ 28/63) = 1.9365.
    """
    store_forecast(wiring, 5)
    sell(database_url, AHEAD[0], 4)
    sell(database_url, AHEAD[1], 8)
    accuracy = measure(wiring)
    assert isinstance(accuracy, Accuracy)
    overall = accuracy.overall
    assert (accuracy.known_days, overall.actual_milliunits, overall.forecast_milliunits) == (
        2,
        12000,
        10000,
    )
    assert overall.wape == pytest.approx(4 / 12)
    assert overall.naive_wape == pytest.approx(4 / 12)
    assert overall.bias == pytest.approx(-2 / 12)
    assert overall.rmsse == pytest.approx(1.9365, abs=1e-4)
    assert [(each.horizon, each.target_date, each.wape) for each in accuracy.scores[1:]] == [
        (1, AHEAD[0], pytest.approx(1 / 4)),
        (2, AHEAD[1], pytest.approx(3 / 8)),
    ]


def test_scores_are_stored_and_measured_again_in_their_place(wiring, database_url):
    store_forecast(wiring, 5)
    sell(database_url, AHEAD[0], 4)
    measure(wiring)
    sell(database_url, AHEAD[2], 10)
    again = measure(wiring)
    assert wiring.ports.accuracy.find(PARTITION) == again
    assert fetch(
        database_url, "SELECT horizon, known_days, wape FROM forecast_accuracy ORDER BY horizon"
    ) == [(0, 2, pytest.approx(6 / 14)), (1, 2, 0.25), (3, 2, 0.5)]


def test_a_day_that_is_not_in_does_not_count_as_zero(wiring, database_url):
    """A quarantined and a stale day are unknown, and so is one that has not come yet."""
    store_forecast(wiring, 5)
    for day in AHEAD[:3]:
        sell(database_url, day, 5)
    quarantine(database_url, AHEAD[0], "R01")
    quarantine(database_url, AHEAD[1], "R01", keeps_output=True)
    accuracy = measure(wiring)
    assert (accuracy.known_days, accuracy.overall.wape) == (1, 0.0)


def test_a_day_without_any_sale_has_no_wape(wiring, database_url):
    store_forecast(wiring, 5)
    sell(database_url, AHEAD[0], 4)
    execute(database_url, "DELETE FROM daily_demand WHERE date = %s", AHEAD[0])
    overall = measure(wiring).overall
    assert (overall.actual_milliunits, overall.wape, overall.bias) == (0, None, None)


def test_a_group_that_was_not_forecast_counts_as_forecast_to_sell_nothing(wiring, database_url):
    store_forecast(wiring, 5)
    sell(database_url, AHEAD[0], 5)
    execute(
        database_url,
        "UPDATE daily_demand SET demand_group = 'NEW' WHERE date = %s",
        AHEAD[0],
    )
    overall = measure(wiring).overall
    assert overall.wape == pytest.approx(10 / 5)


def test_without_forecast_or_actuals_nothing_is_measured(wiring, database_url):
    assert measure(wiring) == NotMeasured(
        partition=PARTITION, reason="there is no forecast to measure"
    )
    store_forecast(wiring, 5)
    assert measure(wiring) == NotMeasured(
        partition=PARTITION, reason="no day of the horizon is in yet"
    )
    assert fetch(database_url, "SELECT count(*) FROM forecast_accuracy") == [(0,)]


def test_actuals_corrected_later_change_the_version(wiring, database_url):
    store_forecast(wiring, 5)
    sell(database_url, AHEAD[0], 4)
    first = measure(wiring)
    execute(database_url, "UPDATE daily_demand SET units = 7 WHERE date = %s", AHEAD[0])
    second = measure(wiring)
    assert first.data_version != second.data_version
    assert replace(second, scores=first.scores) == first
