"""Fits, forecasts and measures for the night: training data in, plain rows and scores out."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import date as Date
from datetime import timedelta
from functools import cache
from importlib.resources import files

import numpy as np
import pandas as pd

from forecast_backfill.core.forecast import ForecastRow
from forecast_backfill.forecasting.accuracy import bias, rmsse, wape
from forecast_backfill.forecasting.artefact import dump, load
from forecast_backfill.forecasting.model import Trainer, fit, forecast, train_lightgbm
from forecast_backfill.forecasting.naive import seasonal_naive
from forecast_backfill.forecasting.panel import Floats, Panel, build_panel, complete_long
from forecast_backfill.forecasting.training import Plan
from forecast_backfill.ports.night_values import Fitted, HorizonScore, TrainingData

MILLI = 1000
_MODULES = (
    "artefact.py",
    "features.py",
    "formula.py",
    "gradient.py",
    "model.py",
    "night_forecaster.py",
    "panel.py",
    "training.py",
)


class NightForecaster:
    """One model for all series; the forecasts of the model asked for last are kept."""

    def __init__(self, *, horizon_days: int, trainer: Trainer = train_lightgbm) -> None:
        self._horizon = horizon_days
        self._trainer = trainer
        self._kept: tuple[str, Mapping[str, Sequence[ForecastRow]]] | None = None

    @property
    def code_version(self) -> str:
        """A digest of the source text of all that decides a model."""
        return _code_version()

    def fit(self, data: TrainingData, *, seed: int) -> Fitted:
        """Fit on what is present; where LightGBM fails or would lose, the formula is the model."""
        panel = _panel(data)
        model = fit(panel, Plan(horizon=self._horizon, seed=seed), trainer=self._trainer)
        version, artefact = dump(model, panel)
        return Fitted(
            version=version,
            kind=model.kind.value,
            reason=model.reason,
            artefact=artefact,
            parameters=dict(model.parameters),
            seed=seed,
            training_rows=model.training_rows,
            holdout_model_wape=model.holdout_model_wape,
            holdout_formula_wape=model.holdout_formula_wape,
        )

    def forecast(self, artefact: bytes, version: str) -> Mapping[str, Sequence[ForecastRow]]:
        """The forecasts by region, in order of group and date."""
        if self._kept is None or self._kept[0] != version:
            self._kept = version, _rows(forecast(*load(artefact)))
        return self._kept[1]

    def score(
        self,
        *,
        forecasts: Sequence[ForecastRow],
        actuals: Mapping[Date, Mapping[str, int]],
        history: Mapping[Date, Mapping[str, int]],
    ) -> tuple[HorizonScore, ...]:
        """All days together first, then each horizon day that is in `actuals`."""
        first = min(row.target_date for row in forecasts)
        days = [first + timedelta(days=each) for each in range(self._horizon)]
        sold = {group for units in actuals.values() for group in units}
        groups = sorted({row.demand_group for row in forecasts} | sold)
        # A group that was not forecast was forecast to sell nothing.
        predicted = np.zeros((len(groups), len(days)))
        for row in forecasts:
            if row.milliunits is not None:
                place = groups.index(row.demand_group), (row.target_date - first).days
                predicted[place] = row.milliunits / MILLI
        actual = _array(actuals, groups, days)
        past = _history(history, groups, first)
        naive = _naive(past, groups, first, self._horizon)
        known = [at for at, day in enumerate(days) if day in actuals]
        return (
            _score(0, None, actual, predicted, naive, past),
            *(
                _score(
                    at + 1, days[at], *(each[:, [at]] for each in (actual, predicted, naive)), past
                )
                for at in known
            ),
        )


@cache
def _code_version() -> str:
    digest = hashlib.sha256()
    for name in _MODULES:
        text = (files("forecast_backfill.forecasting") / name).read_text("utf-8")
        digest.update(f"{name}\n{text}".encode())
    return digest.hexdigest()[:12]


def _panel(data: TrainingData) -> Panel:
    sales = pd.DataFrame(
        [
            (each.partition.region, group, each.partition.date, units)
            for each in data.present
            for group, units in each.units.items()
        ],
        columns=["region", "demand_group", "date", "units"],
    )
    long = complete_long(
        sales,
        window=data.window,
        regions=data.regions,
        groups=data.groups,
        present=[each.partition for each in data.present],
    )
    promotions = pd.DataFrame(
        [
            (each.region, each.demand_group, each.week, each.on_display, each.on_mailer)
            for each in data.promotions
        ],
        columns=["region", "demand_group", "week", "display", "mailer"],
    )
    return build_panel(long, promotions)


def _rows(frame: pd.DataFrame) -> dict[str, tuple[ForecastRow, ...]]:
    """Rows in thousandths, by region; a number that is not finite becomes None."""
    units = frame["units"].to_numpy(np.float64)
    is_finite = np.isfinite(units)
    milliunits = np.rint(np.where(is_finite, units, 0.0) * MILLI).astype(np.int64).tolist()
    dates = frame["date"].dt.date
    by_region: dict[str, list[ForecastRow]] = {}
    for region, group, day, value, is_good in zip(
        frame["region"], frame["demand_group"], dates, milliunits, is_finite, strict=True
    ):
        row = ForecastRow(
            demand_group=group, target_date=day, milliunits=value if is_good else None
        )
        by_region.setdefault(region, []).append(row)
    return {region: tuple(rows) for region, rows in by_region.items()}


def _array(
    units: Mapping[Date, Mapping[str, int]], groups: Sequence[str], days: Sequence[Date]
) -> Floats:
    values = np.full((len(groups), len(days)), np.nan)
    for at, day in enumerate(days):
        if day in units:
            values[:, at] = [units[day].get(group, 0) for group in groups]
    return values


def _history(history: Mapping[Date, Mapping[str, int]], groups: Sequence[str], end: Date) -> Floats:
    start = min(history, default=end)
    days = [start + timedelta(days=each) for each in range((end - start).days)]
    return _array(history, groups, days)


def _naive(past: Floats, groups: Sequence[str], first: Date, horizon: int) -> Floats:
    panel = Panel(
        regions=("",),
        groups=tuple(groups),
        first=first - timedelta(days=past.shape[1]),
        units=past[None],
        promotions=np.full((1, len(groups), 0, 2), np.nan),
    )
    return seasonal_naive(panel, horizon)[0]


def _score(
    horizon: int,
    day: Date | None,
    actual: Floats,
    predicted: Floats,
    naive: Floats,
    past: Floats,
) -> HorizonScore:
    known = ~np.isnan(actual)
    return HorizonScore(
        horizon=horizon,
        target_date=day,
        actual_milliunits=round(float(actual[known].sum()) * MILLI),
        forecast_milliunits=round(float(predicted[known].sum()) * MILLI),
        wape=wape(actual, predicted),
        naive_wape=wape(np.where(np.isnan(naive), np.nan, actual), naive),
        bias=bias(actual, predicted),
        rmsse=rmsse(actual, predicted, past),
    )
