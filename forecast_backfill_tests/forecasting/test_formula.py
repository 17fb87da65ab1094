"""The formula: a level times a weekday profile, neither of them moved by a hole."""

import numpy as np
import pytest

from forecast_backfill.forecasting.formula import fit_formula, forecast_formula
from forecast_backfill.forecasting.panel import build_panel
from forecast_backfill_tests.forecasting.market import draw_units, long_of, market

PATTERN = np.array([2, 2, 4, 4, 6, 8, 9])


def regular(days=84):
    """Every region sells the same weekday pattern, times its number, in every group."""
    pattern = np.tile(PATTERN, days // 7)
    return np.broadcast_to(np.arange(1, 5)[:, None, None] * pattern, (4, 3, days)).copy()


def test_level_and_profile_of_a_regular_market():
    formula = fit_formula(build_panel(long_of(regular())))
    np.testing.assert_allclose(formula.level[:, 0], [5, 10, 15, 20])
    np.testing.assert_allclose(formula.profile[0], PATTERN / 5)


def test_the_forecast_goes_on_with_the_weekdays():
    forecast = forecast_formula(build_panel(long_of(regular(77))), 9)
    np.testing.assert_allclose(forecast[1, 2], [4, 4, 8, 8, 12, 16, 18, 4, 4])


def test_a_region_whose_sundays_are_all_missing_is_forecast_within_3_percent():
    sundays = [("R02", number) for number in range(6, 84, 7)]
    panel = build_panel(long_of(regular(), sundays))
    np.testing.assert_allclose(forecast_formula(panel, 7)[1, 0], 2 * PATTERN, rtol=0.03)


def test_the_same_days_as_zeros_would_move_the_level():
    units = regular()
    units[1, :, 6::7] = 0
    forecast = forecast_formula(build_panel(long_of(units)), 7)
    assert forecast[1, 0].sum() < 0.9 * 70


def test_a_closed_day_of_the_whole_chain_moves_nothing():
    units = regular()
    units[:, :, 80] = 0
    np.testing.assert_allclose(
        forecast_formula(build_panel(long_of(units)), 7)[3, 0], 4 * PATTERN, rtol=0.01
    )


def test_days_before_the_last_56_do_not_count():
    units = regular()
    units[:, :, :28] = 1000
    np.testing.assert_allclose(
        fit_formula(build_panel(long_of(units))).level[:, 0], [5, 10, 15, 20]
    )


def test_a_region_without_any_day_takes_the_mean_level_of_its_group():
    gone = [("R04", number) for number in range(84)]
    formula = fit_formula(build_panel(long_of(regular(), gone)))
    np.testing.assert_allclose(formula.level[:, 0], [5, 10, 15, 10])


def test_a_group_that_nobody_sold_is_forecast_as_zero():
    units = regular()
    units[:, 1] = 0
    assert (forecast_formula(build_panel(long_of(units)), 14)[:, 1] == 0).all()


@pytest.mark.parametrize("days", [1, 6, 13])
def test_a_very_short_history_still_gives_finite_forecasts(days):
    panel = build_panel(long_of(draw_units(days)))
    forecast = forecast_formula(panel, 14)
    assert np.isfinite(forecast).all()
    assert (forecast >= 0).all()


def test_it_is_close_to_the_truth_of_an_invented_market():
    forecast = forecast_formula(market(missing=()), 7)
    assert forecast[2, 0].mean() == pytest.approx(21, rel=0.05)
