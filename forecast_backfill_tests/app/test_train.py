"""The fit: what it reads, that it repeats itself to the byte, and what happens when it fails."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from forecast_backfill.app.seal_day import seal_day
from forecast_backfill.app.train import train
from forecast_backfill.core.partition import DateRange, Partition
from forecast_backfill.core.states import Workload
from forecast_backfill.forecasting.artefact import ArtefactRefused, load
from forecast_backfill.forecasting.night_forecaster import NightForecaster
from forecast_backfill.forecasting.training import fit_failed
from forecast_backfill.warehouse.kill import kill
from forecast_backfill_tests.app.nights import (
    GROUPS,
    LAST,
    REGIONS,
    correct,
    execute,
    fetch,
    fill,
    fit_day,
    forecast_day,
    night,
    quarantine,
    seal_window,
)

DAYS = [LAST - timedelta(days=back) for back in range(90)]
ORACLE = """
SELECT (SELECT sum(units) FROM daily_demand AS sold
        WHERE sold.date = day AND sold.region = part.region AND sold.demand_group = grp)
FROM generate_series(%s::date, %s::date, interval '1 day') AS day,
     unnest(%s::text[]) AS part (region), unnest(%s::text[]) AS grp
WHERE EXISTS (SELECT FROM demand_seal_region AS sealed WHERE sealed.date = day
              AND sealed.region = part.region AND sealed.state = 'in')
ORDER BY part.region, grp, day
"""


def stored(url):
    return fetch(url, "SELECT * FROM demand_forecast ORDER BY 1, 2, 4, 5")


def panel_of(wiring, model):
    return load(wiring.ports.models.artefact(LAST, model.version))[1]


def test_the_same_input_and_seed_give_the_same_model_and_forecasts_to_the_byte(
    wiring, database_url
):
    seal_window(wiring)
    first = fit_day(wiring)
    bytes_before = wiring.ports.models.artefact(LAST, first.version)
    forecast_day(wiring)
    before = stored(database_url)
    execute(database_url, "TRUNCATE demand_model, forecast_partition CASCADE")
    assert stored(database_url) == []
    second = fit_day(wiring)
    assert second.version == first.version
    assert wiring.ports.models.artefact(LAST, second.version) == bytes_before
    forecast_day(wiring)
    assert stored(database_url) == before
    assert len(before) == 168


def test_other_data_gives_another_model(wiring, database_url):
    seal_window(wiring)
    first = fit_day(wiring)
    correct(database_url, DAYS[3], "R01", units=40)
    seal_day(DAYS[3], request=wiring.request(), ports=wiring.ports)
    second = fit_day(wiring)
    assert second.is_changed
    assert second.version != first.version


def test_missing_days_are_null_and_unsold_days_are_zero(wiring, database_url):
    """The panel that the model has seen, against SQL over the tables."""
    quarantine(database_url, DAYS[5], "R01")
    quarantine(database_url, DAYS[6], "R02", keeps_output=True)
    execute(
        database_url,
        "DELETE FROM daily_demand WHERE date = %s AND region = 'R03' AND demand_group = 'MILK'",
        DAYS[7],
    )
    seal_window(wiring)
    panel = panel_of(wiring, fit_day(wiring))
    assert panel.units.shape == (4, 3, 90)
    at = {day: 89 - back for back, day in enumerate(DAYS)}
    assert np.isnan(panel.units[0, :, at[DAYS[5]]]).all()
    assert np.isnan(panel.units[1, :, at[DAYS[6]]]).all()
    assert panel.units[2, 1, at[DAYS[7]]] == 0.0
    assert np.isnan(panel.units).sum() == 6
    oracle = fetch(database_url, ORACLE, DAYS[-1], LAST, list(REGIONS), list(GROUPS))
    expected = [0.0 if value is None else float(value) for (value,) in oracle]
    assert len(expected) == 1074
    assert panel.units[~np.isnan(panel.units)].tolist() == expected


def test_what_lies_outside_the_window_does_not_change_the_model(wiring, database_url):
    seal_window(wiring)
    first = fit_day(wiring)
    fill(database_url, first=LAST + timedelta(days=1), last=LAST + timedelta(days=20))
    fill(database_url, first=LAST - timedelta(days=99), last=LAST - timedelta(days=90))
    assert fit_day(wiring).version == first.version


def test_a_partition_committed_after_its_seal_is_named_as_moved(wiring, database_url):
    seal_window(wiring)
    correct(database_url, DAYS[3], "R01")
    assert fit_day(wiring).moved == (Partition(date=DAYS[3], region="R01"),)


def fail(rows, plan):
    raise fit_failed("the library was upgraded away")


def test_a_fit_that_fails_leaves_the_formula_recorded_with_its_reason(wiring, database_url):
    seal_window(wiring)
    fit_day(wiring)
    broken = NightForecaster(horizon_days=14, trainer=fail)
    ports = replace(wiring.ports, forecaster=broken)
    model = train(LAST, request=wiring.request(), ports=ports)
    assert fetch(database_url, "SELECT kind, reason, training_rows FROM demand_model") == [
        ("formula", "the library was upgraded away", 0)
    ]
    assert [type(each).__name__ for each in forecast_day(wiring)] == ["ForecastWritten"] * 4
    assert fetch(database_url, "SELECT body FROM notice WHERE kind = 'fit_fell_back'")[-1] == (
        model.reason,
    )


def test_a_model_that_would_lose_is_not_used(wiring, database_url):
    seal_window(wiring)
    model = fit_day(wiring)
    assert model.holdout_formula_wape is not None
    assert (model.kind == "lightgbm") == (model.holdout_model_wape <= model.holdout_formula_wape)


def test_no_fit_starts_while_backfill_may_hold_no_slot(settings, database_url):
    """A refit is backfill: with a cap of 0 it waits, and does not take a nightly slot."""

    class _Waited(Exception):
        pass

    class _Clock:
        def __init__(self, clock):
            self.now, self.monotonic = clock.now, clock.monotonic

        def sleep(self, seconds):
            raise _Waited

    with night(settings) as wiring:
        seal_window(wiring)
        fit_day(wiring)
    execute(database_url, "UPDATE workload_control SET cap = 0 WHERE workload = 'backfill'")
    with night(settings, workload=Workload.BACKFILL, run_id="refit") as wiring:
        ports = replace(wiring.ports, clock=_Clock(wiring.ports.clock))
        with pytest.raises(_Waited):
            train(LAST, request=wiring.request(), ports=ports)


def test_a_killed_refit_stores_no_model(settings, database_url):
    from forecast_backfill.core.errors import EpochRaised

    with night(settings) as wiring:
        seal_window(wiring)
        fit_day(wiring)
    execute(database_url, "DELETE FROM demand_model")
    with night(settings, workload=Workload.BACKFILL, run_id="refit") as wiring:
        request = wiring.request()
        kill(wiring.session, Workload.BACKFILL, reason="test", changed_by="test")
        with pytest.raises(EpochRaised):
            train(LAST, request=request, ports=wiring.ports)
    assert fetch(database_url, "SELECT count(*) FROM demand_model") == [(0,)]


def test_bytes_that_are_no_model_are_refused():
    with pytest.raises(ArtefactRefused, match="its form is another"):
        load(b"pickle?")


def test_the_window_is_read_as_of_one_moment(wiring, database_url):
    """One row a readable partition; a partition without rows is there, one without output not."""
    execute(database_url, "DELETE FROM daily_demand WHERE region = 'R02'")
    quarantine(database_url, LAST, "R03")
    window = DateRange(start=LAST, end=LAST + timedelta(days=1))
    found = [(each.partition.region, each.units) for each in wiring.ports.demand.read(window)]
    assert [(region, sorted(units)) for region, units in found] == [
        ("R01", ["BREAD", "MILK", "SOUP"]),
        ("R02", []),
        ("R04", ["BREAD", "MILK", "SOUP"]),
    ]
