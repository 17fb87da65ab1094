"""Scores by hand, and never over days without an actual."""

import numpy as np
import pandas as pd
import pytest

from forecast_backfill.forecasting.accuracy import bias, rmsse, score, wape

ACTUAL = np.array([4.0, 0.0, 6.0, np.nan])
FORECAST = np.array([5.0, 2.0, 3.0, 99.0])


def test_wape_is_the_sum_of_absolute_errors_over_the_sum_of_units():
    assert wape(ACTUAL, FORECAST) == pytest.approx(0.6)


def test_bias_is_positive_where_too_much_was_forecast():
    assert bias(ACTUAL, FORECAST) == pytest.approx(0.0)
    assert bias(ACTUAL, FORECAST + 1) == pytest.approx(0.3)


def test_nothing_sold_has_no_score():
    zeros = np.array([0.0, np.nan])
    assert wape(zeros, FORECAST[:2]) is None
    assert bias(zeros, FORECAST[:2]) is None


def test_rmsse_compares_with_the_seasonal_naive_of_the_history():
    history = np.array([1.0, 2.0, 3.0, 5.0, np.nan, 6.0])
    # Errors 1, 2, 3; steps of two days 2, 3 and, the missing day left out, 1.
    assert rmsse(ACTUAL, FORECAST, history, season=2) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("actual", "history"),
    [
        ([np.nan], [1.0, 2.0, 3.0]),
        ([1.0], [1.0, 2.0]),
        ([1.0], [4.0, 5.0, 4.0, 5.0]),
    ],
    ids=["no actual", "short history", "history that repeats itself"],
)
def test_rmsse_without_anything_to_compare_is_none(actual, history):
    assert rmsse(np.array(actual), np.array([2.0]), np.array(history), season=2) is None


def test_scores_by_region_leave_days_without_an_actual_out():
    frame = pd.DataFrame(
        {
            "region": ["R01", "R01", "R01", "R02", "R03"],
            "actual": [4.0, 6.0, None, 0.0, None],
            "forecast": [5.0, 4.0, 7.0, 1.0, 1.0],
            "naive": [2.0, 6.0, 7.0, 0.0, 0.0],
        }
    )
    scores = score(frame, ["region"])
    expected = pd.DataFrame(
        {
            "region": ["R01", "R02"],
            "units": [10.0, 0.0],
            "wape": [0.3, np.nan],
            "naive_wape": [0.2, np.nan],
            "bias": [-0.1, np.nan],
        }
    )
    pd.testing.assert_frame_equal(scores, expected)
