"""What the model learns from: past origins of the window, each seen as it was then."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forecast_backfill.core.errors import ForecastBackfillError
from forecast_backfill.forecasting.features import build_features
from forecast_backfill.forecasting.panel import KNOWN_AHEAD_DAYS, Floats, Panel


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How to fit: `origins` past origins, `origin_step` days apart, are learnt from.

    Each needs `min_history` days before it. On the held out last `horizon` days LightGBM may lose
    to the formula by the factor `tolerance` at most: 14 days cannot tell 1 % from chance.
    """

    horizon: int = 14
    origins: int = 5
    origin_step: int = 7
    min_history: int = 28
    rounds: int = 20
    seed: int = 20171225
    tolerance: float = 1.01

    def __post_init__(self) -> None:
        if not 1 <= self.horizon <= KNOWN_AHEAD_DAYS:
            raise ValueError(f"a horizon of {self.horizon} days, not 1 to {KNOWN_AHEAD_DAYS}")
        if min(self.origins, self.origin_step, self.min_history, self.rounds) < 1:
            raise ValueError(f"a plan that learns from nothing: {self}")


DEFAULT_PLAN = Plan()


class FitFailed(ForecastBackfillError):
    """No model came out of the fit; the formula forecast takes its place."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainingRows:
    """One row a (series, origin, horizon day): features, the formula's forecast, the units."""

    values: Floats
    formula: Floats
    units: Floats


def fit_failed(why: str) -> FitFailed:
    """The error with its remedy."""
    return FitFailed(
        "the gradient boosting fit failed",
        why=why,
        next_command="pip install 'forecast-backfill[forecast]', then launch demand_model again",
    )


def gather_rows(panel: Panel, plan: Plan) -> TrainingRows:
    """The rows to learn from, by origin (latest first), region, group and horizon day.

    Days that are missing or closed are no rows. Raises FitFailed where the history is too short.
    """
    evidence = panel.evidence()
    latest = panel.days - plan.horizon
    origins = [latest - plan.origin_step * number for number in range(plan.origins)]
    origins = [origin for origin in origins if origin >= plan.min_history]
    if not origins:
        needed = plan.min_history + plan.horizon
        raise fit_failed(f"{panel.days} days of history, fewer than {needed}")
    blocks = [build_features(panel, origin, plan.horizon) for origin in origins]
    units = np.stack([evidence[:, :, origin : origin + plan.horizon] for origin in origins])
    known = ~np.isnan(units)
    if not known.any():
        raise fit_failed("no day of the past horizons is there to learn from")
    return TrainingRows(
        values=np.stack([block.values for block in blocks])[known],
        formula=np.stack([block.formula for block in blocks])[known],
        units=units[known],
    )
