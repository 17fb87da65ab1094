"""One fit over all series: same bytes from the same data, and the formula where it must be."""

import hashlib
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from forecast_backfill.forecasting.features import FEATURES, build_features
from forecast_backfill.forecasting.formula import forecast_formula
from forecast_backfill.forecasting.gradient import predict
from forecast_backfill.forecasting.model import (
    FittedModel,
    ModelKind,
    fit,
    forecast,
    to_long,
    train_lightgbm,
)
from forecast_backfill.forecasting.panel import build_panel
from forecast_backfill.forecasting.training import (
    FitFailed,
    Plan,
    TrainingRows,
    fit_failed,
    gather_rows,
)
from forecast_backfill_tests.forecasting.market import (
    GROUPS,
    HOLES,
    REGIONS,
    draw_units,
    long_of,
    market,
    promotions,
)

ALWAYS_LIGHTGBM = Plan(tolerance=10.0)
NEVER_LIGHTGBM = Plan(tolerance=0.0)


def digest_of(model, panel):
    table = forecast(model, panel).to_csv(index=False)
    return hashlib.sha256(f"{model.text}{table}".encode()).hexdigest()


def test_every_series_and_horizon_day_is_forecast_exactly_once_and_in_order():
    panel = market()
    table = forecast(fit(panel, ALWAYS_LIGHTGBM), panel)
    expected = [
        (region, group, pd.Timestamp("2026-11-29") + pd.Timedelta(days=step - 1), step)
        for region in REGIONS
        for group in GROUPS
        for step in range(1, 15)
    ]
    keys = table[["region", "demand_group", "date", "horizon"]]
    assert list(keys.itertuples(index=False, name=None)) == expected
    assert np.isfinite(table["units"]).all()


def test_the_same_data_gives_the_same_bytes():
    panel = market()
    assert digest_of(fit(panel, ALWAYS_LIGHTGBM), panel) == digest_of(
        fit(market(), ALWAYS_LIGHTGBM), market()
    )


def test_another_process_gives_the_same_bytes():
    script = (
        "from forecast_backfill_tests.forecasting.test_model import *;"
        "print(digest_of(fit(market(), ALWAYS_LIGHTGBM), market()))"
    )
    ran = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    panel = market()
    assert ran.stdout.strip() == digest_of(fit(panel, ALWAYS_LIGHTGBM), panel)


def test_rows_in_another_order_give_the_same_bytes():
    long = long_of(draw_units(), HOLES)
    tables = (long, long.sample(frac=1.0, random_state=5))
    weekly = (promotions(), promotions().sample(frac=1.0, random_state=6))
    panels = [build_panel(*each) for each in zip(tables, weekly, strict=True)]
    first, second = [digest_of(fit(panel, ALWAYS_LIGHTGBM), panel) for panel in panels]
    assert first == second


def test_another_seed_gives_another_model():
    panel = market()
    other = Plan(tolerance=10.0, seed=4)
    assert fit(panel, other).text != fit(panel, ALWAYS_LIGHTGBM).text


@pytest.mark.parametrize("plan", [ALWAYS_LIGHTGBM, NEVER_LIGHTGBM], ids=["lightgbm", "formula"])
def test_what_happens_after_the_origin_changes_no_byte_of_an_earlier_night(plan):
    units = draw_units(days=104)
    shifted = units.copy()
    shifted[:, :, 90:] = shifted[:, :, 90:] * 7 + 3
    late = [("R01", 91), ("R04", 95)]
    panels = [
        build_panel(long_of(units), promotions()).before(90),
        build_panel(long_of(shifted, late), promotions()).before(90),
    ]
    first, second = [digest_of(fit(panel, plan), panel) for panel in panels]
    assert first == second


def test_a_night_of_the_past_is_what_it_would_have_been_then():
    """Hindcast: the panel cut out of a longer history, or built from the days of then alone."""
    units = draw_units(days=104)
    then = build_panel(long_of(units[:, :, :90]), promotions(weeks=20))
    later = build_panel(long_of(units), promotions(weeks=20)).before(90)
    assert later.digest() == then.digest()
    tables = [forecast(fit(panel, ALWAYS_LIGHTGBM), panel) for panel in (then, later)]
    pd.testing.assert_frame_equal(*tables, check_exact=True)


def test_a_missing_day_and_the_same_day_as_zero_give_other_forecasts():
    units = draw_units()
    missing = build_panel(long_of(units, [("R03", number) for number in range(80, 90)]))
    units[2, :, 80:] = 0
    zero = build_panel(long_of(units))
    plans = (NEVER_LIGHTGBM, ALWAYS_LIGHTGBM)
    totals = [
        [table[table["region"] == "R03"]["units"].sum() for table in tables]
        for tables in (
            [forecast(fit(panel, plan), panel) for plan in plans] for panel in (missing, zero)
        )
    ]
    assert all(with_null > 1.1 * with_zero for with_null, with_zero in zip(*totals, strict=True))


def test_missing_days_are_no_rows_to_learn_from():
    full = gather_rows(market(missing=()), Plan())
    holed = gather_rows(market(missing=[("R01", 89), ("R03", 60)]), Plan())
    # Day 89 is a target of one origin, day 60 of two (48 and 55), each for three groups.
    assert len(full.units) == 5 * 14 * 12
    assert len(full.units) - len(holed.units) == 3 * (1 + 2)


def test_forecasts_are_never_negative():
    units = draw_units()
    units[:, :, 60:] = 0
    units[0, 0, 60:] = 1
    panel = build_panel(long_of(units))
    for plan in (ALWAYS_LIGHTGBM, NEVER_LIGHTGBM):
        assert (forecast(fit(panel, plan), panel)["units"] >= 0).all()


def test_a_new_group_and_a_new_region_do_not_stop_the_fit():
    units = draw_units()
    units[:, 2, :80] = 0
    young = [("R04", number) for number in range(85)]
    panel = build_panel(long_of(units, young), promotions())
    model = fit(panel, ALWAYS_LIGHTGBM)
    assert model.kind is ModelKind.LIGHTGBM
    assert np.isfinite(forecast(model, panel)["units"]).all()


def test_the_model_wins_where_it_does_not_lose_on_the_held_out_days():
    model = fit(market(), ALWAYS_LIGHTGBM)
    assert model.kind is ModelKind.LIGHTGBM
    assert model.reason == "LightGBM does not lose to the formula on the held out days"
    assert model.holdout_model_wape == pytest.approx(model.holdout_formula_wape, rel=0.1)
    assert model.training_rows > 800


def bad_trainer(rows, plan):
    """Learns a Saturday that is ten times the truth."""
    is_saturday = rows.values[:, FEATURES.index("weekday")] == 5
    units = np.where(is_saturday, rows.units * 10, rows.units)
    return train_lightgbm(TrainingRows(values=rows.values, formula=rows.formula, units=units), plan)


def test_a_model_that_loses_on_the_held_out_days_gives_way_to_the_formula():
    panel = market()
    model = fit(panel, trainer=bad_trainer)
    assert model.kind is ModelKind.FORMULA
    assert model.reason == "LightGBM loses to the formula on the held out days"
    assert model.holdout_model_wape > model.holdout_formula_wape
    pd.testing.assert_frame_equal(
        forecast(model, panel), to_long(panel, forecast_formula(panel, 14))
    )


def test_the_held_out_days_are_not_learnt_from():
    seen = []

    def trainer(rows, plan):
        seen.append(rows)
        return train_lightgbm(rows, plan)

    fit(market(), ALWAYS_LIGHTGBM, trainer=trainer)
    changed = draw_units()
    changed[:, :, 76:] += 5
    fit(build_panel(long_of(changed, HOLES), promotions()), ALWAYS_LIGHTGBM, trainer=trainer)
    held_out, full, held_out_changed, full_changed = seen
    assert held_out.values.tobytes() == held_out_changed.values.tobytes()
    assert held_out.units.tobytes() == held_out_changed.units.tobytes()
    assert full.units.tobytes() != full_changed.units.tobytes()


def test_a_fit_that_fails_gives_way_to_the_formula_and_says_why():
    def broken(rows, plan):
        raise fit_failed("out of memory")

    panel = market()
    model = fit(panel, trainer=broken)
    assert (model.kind, model.reason, model.text) == (ModelKind.FORMULA, "out of memory", None)
    assert len(forecast(model, panel)) == 4 * 3 * 14


def test_without_lightgbm_the_formula_forecasts(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    model = fit(market())
    assert model.kind is ModelKind.FORMULA
    assert model.reason.startswith("LightGBM cannot be loaded")


def test_rows_that_lightgbm_refuses_are_a_failed_fit():
    rows = gather_rows(market(), Plan())
    unsold = TrainingRows(values=rows.values, formula=rows.formula, units=np.zeros(825))
    with pytest.raises(FitFailed, match="sum of labels is zero"):
        train_lightgbm(unsold, Plan())


def test_the_model_learns_from_the_rows():
    """The other tests would pass with a model that never splits."""
    panel = market()
    rows = gather_rows(panel, Plan())
    block = build_features(panel, 90, 14)
    text = bad_trainer(rows, Plan())
    ratio = predict(text, block.values, block.formula) / block.formula
    weekdays = panel.weekday(90 + np.arange(14))
    assert ratio[:, :, weekdays == 5].min() > 2 * ratio[:, :, weekdays == 0].max()


@pytest.mark.parametrize(
    ("days", "reason"),
    [(1, "1 days of history, fewer than 56"), (55, "55 days of history, fewer than 56")],
)
def test_a_short_history_gives_way_to_the_formula(days, reason):
    panel = build_panel(long_of(draw_units(days)))
    model = fit(panel)
    assert (model.kind, model.reason) == (ModelKind.FORMULA, reason)
    assert np.isfinite(forecast(model, panel)["units"]).all()


def test_the_shortest_history_that_can_be_learnt_from():
    assert fit(build_panel(long_of(draw_units(56))), ALWAYS_LIGHTGBM).kind is ModelKind.LIGHTGBM


def test_a_window_without_any_data_gives_way_to_the_formula():
    everything = [(region, number) for region in REGIONS for number in range(90)]
    panel = build_panel(long_of(draw_units(), everything))
    model = fit(panel)
    assert model.kind is ModelKind.FORMULA
    assert (forecast(model, panel)["units"] == 0).all()


def test_a_forecast_that_is_not_finite_is_an_error():
    model = fit(market(), ALWAYS_LIGHTGBM)
    values = np.zeros((1, 14))
    with pytest.raises(FitFailed, match="a forecast is not finite"):
        predict(model.text, values, np.array([np.inf]))


def test_a_model_forecasts_only_the_panel_that_it_has_seen():
    model = fit(market(), ALWAYS_LIGHTGBM)
    with pytest.raises(ValueError, match="is not the one that the model has seen"):
        forecast(model, market(missing=()))


def test_a_model_of_one_kind_with_the_text_of_the_other_is_refused():
    model = fit(market(), NEVER_LIGHTGBM)
    fields = {name: getattr(model, name) for name in FittedModel.__dataclass_fields__}
    with pytest.raises(ValueError, match="a model of kind lightgbm with the text None"):
        FittedModel(**fields | {"kind": ModelKind.LIGHTGBM})


@pytest.mark.parametrize("field", [{"horizon": 0}, {"horizon": 15}, {"origins": 0}, {"rounds": 0}])
def test_a_plan_that_cannot_be_followed_is_refused(field):
    with pytest.raises(ValueError, match=r"horizon|learns from nothing"):
        Plan(**field)
