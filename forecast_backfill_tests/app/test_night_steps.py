"""The steps of a night: a bad dimension, a failing region, and what is published after them."""

from datetime import timedelta

import pytest

from forecast_backfill.app import night_steps
from forecast_backfill.app.night_steps import close_window, fit_day, forecast_batch, run_night
from forecast_backfill.core.errors import DatabaseInterrupted, EpochRaised
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.publication import PublicationStatus
from forecast_backfill.core.states import Workload
from forecast_backfill.ports.night_values import ForecastRefused, TrainedModel
from forecast_backfill.wiring.dimension import dimension_ports
from forecast_backfill_tests.app.nights import (
    LAST,
    REGIONS,
    execute,
    fetch,
    night,
    seal_window,
)
from forecast_backfill_tests.app.nights import (
    fit_day as fit_before,
)


@pytest.fixture
def wiring(settings):
    with night(settings) as opened:
        seal_window(opened)
        yield opened


def asked(wiring, settings):
    return {
        "request": wiring.request(),
        "ports": wiring.ports,
        "dimensions": dimension_ports(settings, wiring.session),
    }


def test_a_night_is_fitted_although_its_dimensions_are_not_landed(wiring, settings):
    done = run_night(LAST, **asked(wiring, settings))
    assert done.is_published
    assert isinstance(done.fit.trained, TrainedModel)
    assert "the dimension product is not landed" in done.fit.dimension_problem


def test_dimensions_that_are_landed_are_loaded_before_the_fit(wiring, settings):
    from forecast_backfill_tests.landing.hand_made import land_dimensions

    land_dimensions(settings.landing_directory, stores=[("s1", "R01")])
    night_steps.judge_window(LAST, request=wiring.request(), ports=wiring.ports)
    assert fit_day(LAST, **asked(wiring, settings)).dimension_problem is None
    loaded = fetch(settings.database_url, "SELECT dimension FROM dimension_load ORDER BY 1")
    assert loaded == [("product",), ("store_region",)]


def fail_in(monkeypatch, region, error):
    """The region's forecast ends in an error of its own."""
    real = night_steps.forecast_region

    def forecast(partition, **arguments):
        if partition.region == region:
            raise error
        return real(partition, **arguments)

    monkeypatch.setattr(night_steps, "forecast_region", forecast)


def batch(wiring):
    told = []
    found = forecast_batch(
        [Partition(date=LAST, region=region) for region in REGIONS],
        request=wiring.request(),
        ports=wiring.ports,
        tell=told.append,
    )
    assert tuple(told) == found.outcomes
    return found


def test_a_region_that_fails_does_not_keep_the_others_from_being_published(wiring, monkeypatch):
    fit_before(wiring)
    lost = DatabaseInterrupted("lost", why="it went away", next_command="nothing")
    fail_in(monkeypatch, "R02", lost)
    found = batch(wiring)
    assert [isinstance(each, ForecastRefused) for each in found.outcomes] == [
        False,
        True,
        False,
        False,
    ]
    (published,) = found.published
    assert (published.status, published.absent) == (PublicationStatus.DEGRADED, ("R02",))


def test_a_kill_ends_the_batch_and_nothing_is_published(wiring, monkeypatch, database_url):
    fit_before(wiring)
    fail_in(monkeypatch, "R02", EpochRaised("killed", why="by hand", next_command="nothing"))
    with pytest.raises(EpochRaised):
        batch(wiring)
    assert fetch(database_url, "SELECT count(*) FROM forecast_publication") == [(0,)]


@pytest.mark.parametrize(
    ("workload", "published"), [(Workload.NIGHTLY, [("kept",)]), (Workload.BACKFILL, [])]
)
def test_only_a_night_that_readers_wait_for_keeps_the_last_ones_forecasts(
    settings, wiring, database_url, workload, published
):
    before = LAST - timedelta(days=1)
    run_night(before, **asked(wiring, settings))
    execute(database_url, "DELETE FROM demand_seal WHERE date > %s", LAST - timedelta(days=20))
    with night(settings, workload=workload) as opened:
        verdict = close_window(LAST, request=opened.request(), ports=opened.ports)
    assert not verdict.is_trainable
    query = "SELECT status FROM forecast_publication WHERE date = %s"
    assert fetch(database_url, query, LAST) == published


def test_a_refit_of_a_date_that_readers_saw_marks_it_where_its_window_is_refused_now(
    settings, wiring, database_url
):
    run_night(LAST, **asked(wiring, settings))
    execute(database_url, "DELETE FROM demand_seal WHERE date > %s", LAST - timedelta(days=20))
    with night(settings, workload=Workload.BACKFILL) as opened:
        close_window(LAST, request=opened.request(), ports=opened.ports)
    ((status, reasons),) = fetch(database_url, "SELECT status, reasons FROM forecast_publication")
    assert status == "degraded"
    assert any("partitions are missing" in reason for reason in reasons)
