"""The formula forecast: a level of each series times a weekday profile pooled over the regions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forecast_backfill.forecasting.panel import Floats, Ints, Panel

LEVEL_DAYS = 56


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Formula:
    """`level` by region and group, `profile` by group and weekday; their product is the forecast.

    `units` and `weekdays` are the recent days that both come from.
    """

    level: Floats
    profile: Floats
    units: Floats
    weekdays: Ints

    def at(self, weekdays: Ints) -> Floats:
        """The forecast by region and group on days with these weekdays."""
        return self.level[:, :, None] * self.profile[None, :, weekdays]


def fit_formula(panel: Panel) -> Formula:
    """The formula at the panel's end, from its last 56 days as far as they are there.

    A missing day is no evidence: neither for the level nor for its weekday. A series without any
    day takes the mean level of its group.
    """
    days = np.arange(max(panel.days - LEVEL_DAYS, 0), panel.days)
    weekdays = panel.weekday(days)
    units = panel.evidence()[:, :, days]
    seen = ~np.isnan(units)
    sold = np.where(seen, units, 0.0)
    mean = _or_group_mean(_ratio(sold.sum(axis=2), seen.sum(axis=2)))
    is_weekday = (weekdays[:, None] == np.arange(7)).astype(np.float64)
    profile = _ratio(sold.sum(axis=0) @ is_weekday, (seen * mean[:, :, None]).sum(0) @ is_weekday)
    profile = np.where(np.isnan(profile), 1.0, profile)
    exposure = (seen * profile[None, :, weekdays]).sum(axis=2)
    level = _or_group_mean(_ratio(sold.sum(axis=2), exposure))
    return Formula(level=level, profile=profile, units=units, weekdays=weekdays)


def forecast_formula(panel: Panel, horizon: int) -> Floats:
    """Units by region, group and horizon day after the panel's end."""
    return fit_formula(panel).at(panel.weekday(panel.days + np.arange(horizon)))


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    return np.divide(
        numerator,
        denominator,
        out=np.full(np.broadcast(numerator, denominator).shape, np.nan),
        where=denominator > 0,
    )


def _or_group_mean(level: Floats) -> Floats:
    known = ~np.isnan(level)
    mean = _ratio(np.where(known, level, 0.0).sum(axis=0), known.sum(axis=0).astype(np.float64))
    return np.where(known, level, np.where(np.isnan(mean), 0.0, mean))
