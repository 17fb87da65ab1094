"""What lost partitions do to the forecasts: accuracy, bias, and how far the forecasts move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.journey_panel import WINDOW, JourneyPanel, forecast_by
from forecast_backfill.forecasting.accuracy import bias, wape
from forecast_backfill.forecasting.model import Plan
from forecast_backfill.forecasting.panel import Panel

Mask = npt.NDArray[np.bool_]

MISSING_PERCENT = (1, 2, 5, 10, 20)


def lose(panel: Panel, percent: int, seed: int) -> Mask:
    """Which (region, 1, day) of the panel are lost, at random."""
    cells = len(panel.regions) * panel.days
    lost = np.zeros(cells, dtype=bool)
    count = round(cells * percent / 100)
    lost[np.random.default_rng(seed).choice(cells, count, replace=False)] = True
    return lost.reshape(len(panel.regions), 1, panel.days)


def with_null(panel: Panel, lost: Mask) -> Panel:
    """The lost days are missing."""
    return replace(panel, units=np.where(lost, np.nan, panel.units))


def with_last_weekday(panel: Panel, lost: Mask) -> Panel:
    """The lost days repeat the last known day of their weekday, as imputation often does."""
    units = np.where(lost, np.nan, panel.units)
    for day in range(7, panel.days):
        today = units[:, :, day]
        units[:, :, day] = np.where(np.isnan(today), units[:, :, day - 7], today)
    return replace(panel, units=units)


def with_zero(panel: Panel, lost: Mask) -> Panel:
    """The lost days pass for days without sales: the mistake that accuracy does not show."""
    return replace(panel, units=np.where(lost, 0.0, panel.units))


WAYS: dict[str, Callable[[Panel, Mask], Panel]] = {
    "null": with_null,
    "imputed (last same weekday)": with_last_weekday,
    "zero-filled (wrong)": with_zero,
}


def loss_table(journey: JourneyPanel, origins: list[int]) -> str:
    """Accuracy, bias and movement of the published forecasts against lost partitions."""
    rows = [row for origin in origins for row in _score_losses(journey, origin)]
    columns = ["missing", "way", "wape", "bias", "moved"]
    table = pd.DataFrame(rows, columns=columns).groupby(["missing", "way"], sort=False).mean()
    lines = [
        f"Partitions lost at random, mean of {len(origins)} origins; movement is the sum of "
        "absolute differences to the forecast from the complete window, over its sum.",
        "",
        "| missing | filled with | WAPE | bias | movement |",
        "|---:|---|---:|---:|---:|",
    ]
    for (percent, way), row in table.iterrows():
        lines.append(
            f"| {percent} % | {way} | {row.wape:.4f} | {row.bias:+.2%} | {row.moved:.2%} |"
        )
    return "\n".join(lines)


def _score_losses(journey: JourneyPanel, origin: int) -> list[tuple[int, str, float, float, float]]:
    panel = journey.panel.between(origin - WINDOW, origin)
    actual = journey.actual(origin)

    def published(each: Panel) -> npt.NDArray[np.float64]:
        return journey.by_department(forecast_by(each, Plan())[0])

    complete = published(panel)
    rows = [(0, "complete", wape(actual, complete), bias(actual, complete), 0.0)]
    for percent in MISSING_PERCENT:
        lost = lose(panel, percent, seed=origin)
        for name, fill in WAYS.items():
            units = published(fill(panel, lost))
            moved = wape(complete, units)
            rows.append((percent, name, wape(actual, units), bias(actual, units), moved))
    return rows
