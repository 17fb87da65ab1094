"""The yardsticks: the last of the same weekday, and the mean of the last four."""

import numpy as np

from forecast_backfill.forecasting.naive import seasonal_naive, weekday_mean
from forecast_backfill.forecasting.panel import build_panel
from forecast_backfill_tests.forecasting.market import long_of


def counting(days=30, missing=()):
    """On day number n everything sells n."""
    units = np.broadcast_to(np.arange(days), (4, 3, days)).copy()
    return build_panel(long_of(units, missing))


def test_seasonal_naive_repeats_the_last_week():
    forecast = seasonal_naive(counting(), 9)
    assert forecast[0, 0].tolist() == [23, 24, 25, 26, 27, 28, 29, 23, 24]


def test_seasonal_naive_goes_back_by_weeks_past_a_hole():
    panel = counting(missing=[("R01", 24), ("R01", 17), ("R01", 29)])
    assert seasonal_naive(panel, 7)[0, 0].tolist() == [23, 10, 25, 26, 27, 28, 22]
    assert seasonal_naive(panel, 7)[1, 0].tolist() == [23, 24, 25, 26, 27, 28, 29]


def test_seasonal_naive_of_a_short_history_is_unknown_where_no_such_weekday_was():
    np.testing.assert_array_equal(
        seasonal_naive(counting(days=3), 7)[0, 0], [np.nan] * 4 + [0, 1, 2]
    )


def test_weekday_mean_averages_the_last_four_of_the_weekday():
    forecast = weekday_mean(counting(), 8)
    assert forecast[0, 0].tolist() == [12.5, 13.5, 14.5, 15.5, 16.5, 17.5, 18.5, 12.5]


def test_weekday_mean_leaves_holes_out():
    panel = counting(missing=[("R01", 23)])
    assert weekday_mean(panel, 1)[0, 0].tolist() == [9.0]
    assert weekday_mean(panel, 1)[1, 0].tolist() == [12.5]
