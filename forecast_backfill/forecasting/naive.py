"""The forecasts that a model has to beat: the same weekday's last value, and its recent mean."""

from __future__ import annotations

import numpy as np

from forecast_backfill.forecasting.panel import Floats, Panel

SEASON = 7


def seasonal_naive(panel: Panel, horizon: int) -> Floats:
    """Each horizon day takes the latest known units of its weekday; NaN where there are none.

    A yardstick comes from the complete history: hand it a panel without holes.
    """
    latest = np.full((*panel.units.shape[:2], SEASON), np.nan)
    for day in range(panel.days):
        units = panel.units[:, :, day]
        season = (day - panel.days) % SEASON
        latest[:, :, season] = np.where(np.isnan(units), latest[:, :, season], units)
    return latest[:, :, np.arange(horizon) % SEASON]


def weekday_mean(panel: Panel, horizon: int, days: int = 28) -> Floats:
    """Each horizon day takes the mean of its weekday over the last `days`; NaN where unknown."""
    recent = panel.units[:, :, max(panel.days - days, 0) :]
    season = (np.arange(recent.shape[2]) - recent.shape[2]) % SEASON
    is_season = (season[:, None] == np.arange(SEASON)).astype(np.float64)
    seen = ~np.isnan(recent)
    count = seen @ is_season
    mean = (np.where(seen, recent, 0.0) @ is_season) / np.where(count == 0, np.nan, count)
    return mean[:, :, np.arange(horizon) % SEASON]
