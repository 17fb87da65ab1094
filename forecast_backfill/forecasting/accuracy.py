"""How good forecasts were: WAPE, RMSSE and bias; days without an actual do not count."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from forecast_backfill.forecasting.panel import Floats

SEASON = 7


def wape(actual: Floats, forecast: Floats) -> float | None:
    """Sum of absolute errors over the sum of actual units; None where nothing was sold."""
    known = ~np.isnan(actual)
    total = actual[known].sum()
    return float(np.abs(forecast[known] - actual[known]).sum() / total) if total > 0 else None


def bias(actual: Floats, forecast: Floats) -> float | None:
    """Sum of errors over the sum of actual units: positive where too much was forecast."""
    known = ~np.isnan(actual)
    total = actual[known].sum()
    return float((forecast[known] - actual[known]).sum() / total) if total > 0 else None


def rmsse(actual: Floats, forecast: Floats, history: Floats, season: int = SEASON) -> float | None:
    """Root mean squared error over that of the seasonal naive within `history` (days last).

    None where there is nothing to compare, or the history repeats itself exactly.
    """
    known = ~np.isnan(actual)
    steps = history[..., season:] - history[..., :-season]
    steps = steps[~np.isnan(steps)]
    if not known.any() or not steps.size or not steps.any():
        return None
    error = np.mean((forecast[known] - actual[known]) ** 2)
    return float(np.sqrt(error / np.mean(steps**2)))


def score(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Units, WAPE and bias of the forecast, and WAPE of the naive, by the columns `by`.

    `frame` has actual, forecast and naive, null where unknown; null scores where nothing was sold.
    """
    known = frame.dropna(subset=["actual"])
    errors = known.assign(
        error=known["forecast"] - known["actual"],
        absolute=(known["forecast"] - known["actual"]).abs(),
        naive_absolute=(known["naive"] - known["actual"]).abs(),
    )
    columns = ["actual", "error", "absolute", "naive_absolute"]
    sums = errors.groupby(list(by), sort=True)[columns].sum(min_count=1)
    units = sums["actual"].where(sums["actual"] > 0)
    return pd.DataFrame(
        {
            "units": sums["actual"],
            "wape": sums["absolute"] / units,
            "naive_wape": sums["naive_absolute"] / units,
            "bias": sums["error"] / units,
        }
    ).reset_index()
