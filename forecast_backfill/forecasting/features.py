"""What the model is told about a target day: only what was known before the forecast's first day.

Sales come from before the origin alone. Of the target day itself only the calendar and the
promotions are used, which are known ahead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forecast_backfill.forecasting.formula import Formula, fit_formula
from forecast_backfill.forecasting.panel import Floats, Ints, Panel

FEATURES = (
    "log_level",
    "trend_28",
    "trend_7",
    "group_trend_28",
    "group_trend_7",
    "region_trend_28",
    "region_trend_7",
    "weekday_ratio",
    "display_change",
    "mailer_change",
    "horizon",
    "weekday",
    "day_of_month",
    "demand_group",
)
FLOOR = 0.02
"""Units a day below which a level cannot be told from nothing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FeatureBlock:
    """Features and formula forecast of every series and horizon day after one origin.

    `values` by region, group, horizon day and feature; `formula` by region, group, horizon day.
    """

    values: Floats
    formula: Floats


def build_features(panel: Panel, origin: int, horizon: int) -> FeatureBlock:
    """The features of days `origin` to `origin + horizon - 1`, as known before day `origin`."""
    known = panel.before(origin)
    formula = fit_formula(known)
    targets = origin + np.arange(horizon)
    weekdays = known.weekday(targets)
    columns = [
        np.log(formula.level + FLOOR)[:, :, None],
        *_trends(formula),
        _weekday_ratio(formula)[:, :, weekdays],
        *np.moveaxis(_promotion_change(known, targets), 3, 0),
        np.arange(1, horizon + 1),
        weekdays,
        known.day_of_month(targets),
        np.arange(len(known.groups))[:, None],
    ]
    shape = (len(known.regions), len(known.groups), horizon)
    values = np.stack([np.broadcast_to(column, shape) for column in columns], axis=3)
    return FeatureBlock(values=values, formula=formula.at(weekdays))


def _trends(formula: Formula) -> list[Floats]:
    """How the last days compare with the formula: the series', its group's, its region's."""
    seen = ~np.isnan(formula.units)
    sold = np.where(seen, formula.units, 0.0)
    expected = np.where(seen, formula.at(formula.weekdays), 0.0)
    trends: list[Floats] = []
    for axis in (None, 0, 1):
        for days in (28, 7):
            recent = [part[:, :, -days:].sum(axis=2) for part in (sold, expected)]
            if axis is not None:
                recent = [part.sum(axis=axis, keepdims=True) for part in recent]
            trends.append(_log_ratio(*recent)[:, :, None])
    return trends


def _weekday_ratio(formula: Formula) -> Floats:
    """How the series' own weekdays compare with the formula's, by region, group and weekday."""
    is_weekday = (formula.weekdays[:, None] == np.arange(7)).astype(np.float64)
    seen = ~np.isnan(formula.units)
    expected = np.where(seen, formula.at(formula.weekdays), 0.0)
    return _log_ratio(np.where(seen, formula.units, 0.0) @ is_weekday, expected @ is_weekday)


def _promotion_change(panel: Panel, targets: Ints) -> Floats:
    """Promotions on the target day against their mean on the known days before the origin."""
    past = panel.promotions[:, :, max(panel.days - 56, 0) : panel.days]
    known = ~np.isnan(past)
    count = known.sum(axis=2)
    mean = np.where(known, past, 0.0).sum(axis=2) / np.where(count == 0, np.nan, count)
    return _log_ratio(panel.promotions[:, :, targets], mean[:, :, None])


def _log_ratio(numerator: Floats, denominator: Floats) -> Floats:
    # One unit on both sides keeps the ratio of small counts near 1.
    return np.log((numerator + 1.0) / (denominator + 1.0))
