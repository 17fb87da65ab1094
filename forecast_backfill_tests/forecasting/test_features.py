"""Features use nothing known later, and an independent SQL oracle gives the same numbers."""

import math
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from forecast_backfill.forecasting.features import FEATURES, build_features
from forecast_backfill.forecasting.panel import build_panel
from forecast_backfill_tests.forecasting.market import (
    FIRST,
    HOLES,
    draw_units,
    long_of,
    market,
    promotions,
)

ORACLE = Path(__file__).with_name("features_oracle.sql").read_text(encoding="utf-8")


def logarithm(value):
    """SQLite need not be built with one; null stays null."""
    return None if value is None else math.log(value)


def oracle(long, origin, horizon):
    """The features and, last, the formula forecast by SQL, one row a series and horizon day."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.create_function("ln", 1, logarithm, deterministic=True)
        first = FIRST + timedelta(days=origin)
        database.execute("CREATE TABLE long (region, demand_group, date, units)")
        rows = [
            (region, group, day.strftime("%Y-%m-%d"), None if missing else int(units))
            for region, group, day, units, missing in zip(
                long["region"],
                long["demand_group"],
                long["date"],
                long["units"].fillna(0),
                long["units"].isna(),
                strict=True,
            )
        ]
        database.executemany("INSERT INTO long VALUES (?, ?, ?, ?)", rows)
        database.execute("CREATE TABLE promotions (region, demand_group, week, display, mailer)")
        weekly = promotions()
        weekly["week"] = [week.isoformat() for week in weekly["week"]]
        database.executemany(
            "INSERT INTO promotions VALUES (?, ?, ?, ?, ?)", weekly.values.tolist()
        )
        database.execute("CREATE TABLE targets (date, step)")
        database.executemany(
            "INSERT INTO targets VALUES (?, ?)",
            [((first + timedelta(days=k)).isoformat(), k + 1) for k in range(horizon)],
        )
        found = database.execute(ORACLE, {"origin": first.isoformat()}).fetchall()
    return np.array(found, dtype=float)


NO_R02 = tuple(("R02", number) for number in range(90))
CLOSED = tuple((region, 70) for region in ("R01", "R02", "R03", "R04"))


@pytest.mark.parametrize(
    "missing", [(), HOLES, NO_R02, CLOSED], ids=["full", "holes", "R02", "day"]
)
@pytest.mark.parametrize("origin", [90, 76, 55, 30])
def test_an_independent_sql_oracle_gives_the_same_features(missing, origin):
    units = draw_units()
    units[:, :, 25] = 0  # closed
    units[:, 2, :40] = 0  # a group that is new
    long = long_of(units, missing)
    block = build_features(build_panel(long, promotions()), origin, 14)
    expected = oracle(long, origin, 14)
    np.testing.assert_allclose(block.values.reshape(-1, len(FEATURES)), expected[:, :-1], atol=1e-9)
    np.testing.assert_allclose(block.formula.reshape(-1), expected[:, -1], atol=1e-9)


@pytest.mark.parametrize("origin", [30, 55, 76])
def test_features_stay_the_same_bytes_whatever_happens_after_the_origin(origin):
    units = draw_units()
    before = build_features(build_panel(long_of(units, HOLES), promotions()), origin, 14)
    shifted = units.copy()
    shifted[:, :, origin:] = np.roll(units[:, :, origin:], 3, axis=2) * 5 + 1
    late_holes = [*HOLES, ("R02", origin), ("R03", origin + 5)]
    late_holes = [hole for hole in late_holes if hole[1] >= origin]
    early_holes = [hole for hole in HOLES if hole[1] < origin]
    other = build_panel(long_of(shifted, [*early_holes, *late_holes]), promotions())
    after = build_features(other, origin, 14)
    assert after.values.tobytes() == before.values.tobytes()
    assert after.formula.tobytes() == before.formula.tobytes()


def test_features_do_change_with_the_last_day_before_the_origin():
    units = draw_units()
    before = build_features(build_panel(long_of(units)), 76, 14)
    units[:, :, 75] += 9
    after = build_features(build_panel(long_of(units)), 76, 14)
    assert after.values.tobytes() != before.values.tobytes()


def test_promotions_after_the_horizon_change_nothing_and_those_within_it_do():
    long = long_of(draw_units(), HOLES)
    weekly = promotions()
    origin, last_week = 77, FIRST + timedelta(days=84)
    later = weekly.assign(display=weekly["display"].where(weekly["week"] <= last_week, 99))
    within = weekly.assign(display=weekly["display"].where(weekly["week"] < last_week, 99))
    blocks = [build_features(build_panel(long, w), origin, 14) for w in (weekly, later, within)]
    assert blocks[1].values.tobytes() == blocks[0].values.tobytes()
    assert blocks[2].values.tobytes() != blocks[0].values.tobytes()


def test_a_missing_day_and_a_zero_day_give_other_features():
    units = draw_units()
    missing = build_features(build_panel(long_of(units, [("R03", 75)])), 76, 14)
    units[2, :, 75] = 0
    zero = build_features(build_panel(long_of(units)), 76, 14)
    trend = FEATURES.index("trend_7")
    assert (zero.values[2, 0, :, trend] < missing.values[2, 0, :, trend]).all()


def test_every_feature_is_finite_but_unknown_promotions():
    values = build_features(market(), 90, 14).values
    is_promotion = [name.endswith("_change") for name in FEATURES]
    assert np.isfinite(values[..., [not each for each in is_promotion]]).all()
    assert np.isnan(values[1][..., is_promotion]).all()
    assert np.isfinite(values[0][..., is_promotion]).all()


def test_importing_the_features_and_the_model_does_not_load_lightgbm():
    script = (
        "import sys, forecast_backfill.forecasting.features, forecast_backfill.forecasting.model;"
        "sys.exit(any(name.split('.')[0] in ('lightgbm', 'scipy', 'dagster')"
        " for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
