"""Measures the forecasts on real data: accuracy, what missing partitions do to them, and cost.

Run as `python -m benchmarks.forecast`; `--nights 400` scores every night too (ten minutes).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from datetime import date as Date
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from benchmarks.forecast_cost import describe_cost
from benchmarks.forecast_losses import loss_table
from benchmarks.journey_panel import HORIZON, WINDOW, JourneyPanel, forecast_by, load_panel
from benchmarks.machine import describe_machine
from benchmarks.results import write_section
from forecast_backfill.forecasting.accuracy import bias, wape
from forecast_backfill.forecasting.formula import forecast_formula
from forecast_backfill.forecasting.model import ModelKind, Plan
from forecast_backfill.forecasting.naive import seasonal_naive, weekday_mean

NAIVE, WEEKDAY_MEAN, FORMULA = "seasonal naive (7)", "28-day weekday mean", "formula"
LIGHTGBM, PUBLISHED = "LightGBM always", "published (guarded)"


def score_origin(journey: JourneyPanel, origin: int, *, with_always: bool) -> pd.DataFrame:
    """WAPE, bias and chain WAPE of every method on the 14 days from `origin` on."""
    panel = journey.panel.between(origin - WINDOW, origin)
    actual = journey.actual(origin)
    published, kind = forecast_by(panel, Plan())
    methods = {
        NAIVE: seasonal_naive(panel, HORIZON),
        WEEKDAY_MEAN: weekday_mean(panel, HORIZON),
        FORMULA: forecast_formula(panel, HORIZON),
        PUBLISHED: published,
    }
    if with_always:
        methods[LIGHTGBM] = forecast_by(panel, Plan(tolerance=float("inf")))[0]
    summed = {name: journey.by_department(units) for name, units in methods.items()}
    return pd.DataFrame(
        {
            "origin": pd.Timestamp(panel.end),
            "method": name,
            "wape": wape(actual, units),
            "bias": bias(actual, units),
            "chain": wape(actual.sum(axis=0), units.sum(axis=0)),
            "is_lightgbm": kind is ModelKind.LIGHTGBM,
        }
        for name, units in summed.items()
    )


def score_origins(
    journey: JourneyPanel, origins: Iterable[int], *, with_always: bool
) -> pd.DataFrame:
    """The scores of every origin, earliest first."""
    return pd.concat(
        [score_origin(journey, each, with_always=with_always) for each in sorted(origins)],
        ignore_index=True,
    )


def accuracy_table(scores: pd.DataFrame) -> str:
    """One row a method, averaged over the origins."""
    chosen = scores[scores["method"] == PUBLISHED]["is_lightgbm"]
    means = scores.groupby("method")[["wape", "bias", "chain"]].mean()
    naive = means.loc[NAIVE]
    wapes = scores.pivot(index="origin", columns="method", values="wape")
    worst = (wapes[PUBLISHED] / wapes[FORMULA]).max()
    lines = [
        f"{len(chosen)} origins from {scores['origin'].min():%Y-%m-%d} to "
        f"{scores['origin'].max():%Y-%m-%d}, horizon {HORIZON}, region × department, window "
        f"{WINDOW} days; the guard chose LightGBM on {chosen.sum()}. On the worst origin the "
        f"published forecast has {worst:.3f} × the formula's WAPE.",
        "",
        "| method | WAPE | × naive | bias | chain × department WAPE | × naive |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name in (NAIVE, WEEKDAY_MEAN, FORMULA, LIGHTGBM, PUBLISHED):
        if name in means.index:
            row = means.loc[name]
            lines.append(
                f"| {name} | {row.wape:.4f} | {row.wape / naive.wape:.3f} | {row.bias:+.2%} "
                f"| {row.chain:.4f} | {row.chain / naive.chain:.3f} |"
            )
    return "\n".join(lines)


def reach_figures(scores: pd.DataFrame) -> list[tuple[str, float, float]]:
    """Name, measured value and limit of each figure, for what would be published."""
    table = scores.pivot(index="origin", columns="method", values=["wape", "bias", "chain"])
    means = table.mean()
    figures = [
        (f"WAPE / {NAIVE}", means["wape", PUBLISHED] / means["wape", NAIVE], 0.75),
        (f"WAPE / {FORMULA}", means["wape", PUBLISHED] / means["wape", FORMULA], 1.02),
        ("absolute bias", abs(means["bias", PUBLISHED]), 0.06),
        (f"chain WAPE / {NAIVE}", means["chain", PUBLISHED] / means["chain", NAIVE], 0.90),
    ]
    if len(table) >= 28 and (np.diff(table.index) == np.timedelta64(1, "D")).all():
        month = table.rolling(28).mean().dropna()
        for other, limit in ((NAIVE, 0.78), (FORMULA, 1.02)):
            ratio = month["wape", PUBLISHED] / month["wape", other]
            figures.append((f"WAPE / {other}, worst 28 nights", ratio.max(), limit))
        worst = month["bias", PUBLISHED].abs().max()
        figures.append(("absolute bias, worst 28 nights", worst, 0.06))
    return figures


def reach_table(figures: list[tuple[str, float, float]]) -> str:
    """The figures against what they have to reach."""
    rows = [
        f"| {name} | {value:.4f} | ≤ {limit:.2f} | {'yes' if value <= limit else 'NO'} |"
        for name, value, limit in figures
    ]
    return "\n".join(["| figure | measured | reach | reached |", "|---|---:|---:|---|", *rows])


def measure(arguments: argparse.Namespace) -> bool:
    """Print every table; whether every figure was reached."""
    journey = load_panel(ZoneInfo("America/New_York"), arguments.as_of)
    latest = journey.panel.days - HORIZON
    origins = np.linspace(WINDOW, latest, arguments.origins).round().astype(int).tolist()
    nights = range(max(latest + 1 - arguments.nights, WINDOW), latest + 1)
    figures: list[tuple[str, float, float]] = []
    for days, with_always in ((origins, True), (nights, False)):
        if len(days):
            scores = score_origins(journey, days, with_always=with_always)
            figures += (found := reach_figures(scores))
            say(accuracy_table(scores), reach_table(found))
    if arguments.losses:
        say(loss_table(journey, origins[::2]))
    say(describe_cost(journey.panel.between(latest - WINDOW, latest)))
    if arguments.nights == 0:
        write_results()
    return all(value <= limit for _, value, limit in figures)


said: list[str] = []


def say(*parts: str) -> None:
    """Print the parts at once, since the next table takes a while, and keep them."""
    said.extend(parts)
    sys.stdout.write("".join(f"\n{part}\n" for part in parts))
    sys.stdout.flush()


def write_results() -> None:
    """Replace the forecasts' section of the results by what was said."""
    machine = describe_machine(Command="`make bench-forecast`")
    write_section(
        "forecast", "\n\n".join(["## Accuracy and cost of the forecasts", machine, *said])
    )


def main() -> int:
    """Parse the command line and measure; 1 where a figure was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.forecast", description=__doc__)
    parser.add_argument("--origins", type=int, default=8, help="spread over the whole history")
    parser.add_argument("--nights", type=int, default=0, help="score so many nights in a row")
    parser.add_argument("--as-of", type=Date.fromisoformat, help="move the data to end on this day")
    parser.add_argument("--no-losses", dest="losses", action="store_false")
    return 0 if measure(parser.parse_args()) else 1


if __name__ == "__main__":
    sys.exit(main())
