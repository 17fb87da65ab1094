"""One fit over all series: LightGBM on top of the formula, and the formula where it would lose."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date as Date
from enum import StrEnum
from types import MappingProxyType

import numpy as np
import pandas as pd

from forecast_backfill.forecasting.accuracy import wape
from forecast_backfill.forecasting.features import build_features
from forecast_backfill.forecasting.formula import forecast_formula
from forecast_backfill.forecasting.gradient import PARAMETERS, predict, train
from forecast_backfill.forecasting.panel import KEY, Floats, Panel
from forecast_backfill.forecasting.training import (
    DEFAULT_PLAN,
    FitFailed,
    Plan,
    TrainingRows,
    fit_failed,
    gather_rows,
)

DECIMALS = 4
"""Forecasts are rounded to this, so that the last bits of a float decide nothing."""


class ModelKind(StrEnum):
    """What makes the forecasts."""

    LIGHTGBM = "lightgbm"
    FORMULA = "formula"


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedModel:
    """A model as it is stored: `text` is LightGBM's own, None where the formula forecasts.

    `reason` says why this kind; the holdout scores are None where there was nothing to score.
    """

    kind: ModelKind
    text: str | None
    reason: str
    window_first: Date
    forecast_from: Date
    panel_digest: str
    plan: Plan
    parameters: Mapping[str, object]
    training_rows: int
    holdout_model_wape: float | None
    holdout_formula_wape: float | None

    def __post_init__(self) -> None:
        if (self.kind is ModelKind.LIGHTGBM) != (self.text is not None):
            raise ValueError(f"a model of kind {self.kind} with the text {self.text!r:.20}")


Trainer = Callable[[TrainingRows, Plan], str]
"""Makes the model's text of the rows; raises FitFailed where none comes out."""


def train_lightgbm(rows: TrainingRows, plan: Plan) -> str:
    """The trainer in production."""
    return train(rows, seed=plan.seed, rounds=plan.rounds)


def fit(
    panel: Panel, plan: Plan = DEFAULT_PLAN, *, trainer: Trainer = train_lightgbm
) -> FittedModel:
    """Fit on the whole panel; fall back to the formula where LightGBM fails or would lose."""
    formula_wape, model_wape, text, rows = None, None, None, 0
    try:
        model_wape, formula_wape = _hold_out(panel, plan, trainer)
        if model_wape > plan.tolerance * formula_wape:
            reason = "LightGBM loses to the formula on the held out days"
        else:
            training = gather_rows(panel, plan)
            rows = len(training.units)
            text = trainer(training, plan)
            _predict(text, panel, plan)
            reason = "LightGBM does not lose to the formula on the held out days"
    except FitFailed as failure:
        text, reason = None, failure.why
    return FittedModel(
        kind=ModelKind.FORMULA if text is None else ModelKind.LIGHTGBM,
        text=text,
        reason=reason,
        window_first=panel.first,
        forecast_from=panel.end,
        panel_digest=panel.digest(),
        plan=plan,
        parameters=MappingProxyType(dict(PARAMETERS)),
        training_rows=rows,
        holdout_model_wape=model_wape,
        holdout_formula_wape=formula_wape,
    )


def forecast(model: FittedModel, panel: Panel) -> pd.DataFrame:
    """Region, demand_group, date, horizon and units of every series and horizon day, sorted.

    Raises ValueError where the panel is not the one that the model was fitted on.
    """
    if panel.digest() != model.panel_digest:
        raise ValueError(f"the panel before {panel.end} is not the one that the model has seen")
    plan = model.plan
    if model.text is None:
        units = forecast_formula(panel, plan.horizon)
    else:
        units = _predict(model.text, panel, plan)
    return to_long(panel, units)


def to_long(panel: Panel, units: Floats) -> pd.DataFrame:
    """Forecasts by region, group and horizon day as a table, rounded, by region, group, date."""
    horizon = units.shape[2]
    dates = pd.date_range(panel.end, periods=horizon)
    index = pd.MultiIndex.from_product([panel.regions, panel.groups, dates], names=KEY)
    frame = index.to_frame(index=False)
    steps = np.tile(np.arange(1, horizon + 1), len(panel.regions) * len(panel.groups))
    return frame.assign(horizon=steps, units=np.round(units, DECIMALS).reshape(-1))


def _hold_out(panel: Panel, plan: Plan, trainer: Trainer) -> tuple[float, float]:
    """WAPE of LightGBM and of the formula on the last days, fitted on the days before them."""
    needed = plan.min_history + 2 * plan.horizon
    if panel.days < needed:
        raise fit_failed(f"{panel.days} days of history, fewer than {needed}")
    past = panel.before(panel.days - plan.horizon)
    actual = panel.evidence()[:, :, past.days :]
    text = trainer(gather_rows(past, plan), plan)
    scores = (
        wape(actual, _predict(text, past, plan)),
        wape(actual, forecast_formula(past, plan.horizon)),
    )
    if scores[0] is None or scores[1] is None:
        raise fit_failed("nothing was sold on the held out days")
    return scores[0], scores[1]


def _predict(text: str, panel: Panel, plan: Plan) -> Floats:
    block = build_features(panel, panel.days, plan.horizon)
    return predict(text, block.values, block.formula)
