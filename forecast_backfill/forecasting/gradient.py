"""Gradient boosting by LightGBM, which is imported only when a fit or a forecast needs it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType, ModuleType

import numpy as np

from forecast_backfill.forecasting.features import FEATURES, FLOOR
from forecast_backfill.forecasting.panel import Floats
from forecast_backfill.forecasting.training import TrainingRows, fit_failed

PARAMETERS: Mapping[str, object] = MappingProxyType(
    {
        "objective": "poisson",
        "learning_rate": 0.05,
        "num_leaves": 15,
        "min_data_in_leaf": 200,
        "lambda_l2": 50.0,
        "max_bin": 63,
        "feature_fraction": 0.8,
        "bagging_fraction": 0.8,
        "bagging_freq": 1,
        "boost_from_average": False,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
        "verbosity": -1,
    }
)
"""Strong regularisation: the boosting starts from the formula and has little left to learn."""


def train(rows: TrainingRows, *, seed: int, rounds: int) -> str:
    """The text of a model of `units / formula`: same rows and seed, same bytes.

    Raises FitFailed where LightGBM cannot be loaded or refuses the rows.
    """
    lightgbm = _load()
    try:
        data = lightgbm.Dataset(
            rows.values,
            label=rows.units,
            init_score=_offset(rows.formula),
            feature_name=list(FEATURES),
        )
        parameters = {**PARAMETERS, "seed": seed}
        return lightgbm.train(parameters, data, num_boost_round=rounds).model_to_string()
    except lightgbm.basic.LightGBMError as error:
        raise fit_failed(f"LightGBM refused the rows: {error}") from error


def predict(text: str, values: Floats, formula: Floats) -> Floats:
    """Units by the model in `text`, in the shape of `formula`; never negative.

    Raises FitFailed where LightGBM cannot be loaded or a forecast is not finite.
    """
    booster = _load().Booster(model_str=text)
    flat = values.reshape(-1, values.shape[-1])
    raw = booster.predict(flat, raw_score=True, num_threads=1)
    units = np.exp(np.asarray(raw).reshape(formula.shape) + _offset(formula))
    if not np.isfinite(units).all():
        raise fit_failed("a forecast is not finite")
    return units


def _load() -> ModuleType:
    try:
        # Its import costs more than a daily_demand partition, and needs the system's libgomp.
        import lightgbm
    except (ImportError, OSError) as error:
        raise fit_failed(f"LightGBM cannot be loaded: {error}") from error
    return lightgbm


def _offset(formula: Floats) -> Floats:
    return np.log(np.maximum(formula, FLOOR))
