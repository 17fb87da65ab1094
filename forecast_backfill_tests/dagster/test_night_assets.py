"""The night's assets in process: what is told of seals, windows, models, forecasts, accuracy."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from dagster import DagsterInstance

from forecast_backfill.settings import Settings
from forecast_backfill_tests.app.nights import (
    LAST,
    REGIONS,
    correct,
    execute,
    fetch,
    fill,
    quarantine,
    settings_for,
)
from forecast_backfill_tests.dagster.event_log import evaluations_of
from forecast_backfill_tests.dagster.night_runs import NIGHTLY, failure_of, run_assets, told

NIGHT = ["demand_seal", "training_window", "demand_model"]
FIRST = LAST - timedelta(days=89)
BEFORE = LAST - timedelta(days=1)
REGIONS_OF_LAST = (f"{LAST}|R01", f"{LAST}|R04")
BACKFILL = {"forecast_backfill/workload": "backfill"}


@pytest.fixture
def settings(database_url: str, tmp_path) -> Settings:
    fill(database_url)
    return settings_for(database_url, tmp_path)


@pytest.fixture
def instance() -> Iterator[DagsterInstance]:
    with DagsterInstance.ephemeral() as found:
        yield found


def seal_history(settings: Settings, instance: DagsterInstance) -> None:
    """Every date before the last one, in one run."""
    result = run_assets(settings, instance, ["demand_seal"], ends=(FIRST, BEFORE), tags=BACKFILL)
    assert result.success


def test_one_run_seals_many_dates_and_tells_of_each(settings, instance):
    seal_history(settings, instance)
    seals = told(instance, "demand_seal")
    assert len(seals) == 89
    stored = dict(fetch(settings.database_url, "SELECT date::text, data_version FROM demand_seal"))
    versions = {day: each.tags["dagster/data_version"] for day, each in seals.items()}
    assert versions == stored


def test_a_night_is_one_run_of_seal_window_check_and_model(settings, instance):
    seal_history(settings, instance)
    result = run_assets(settings, instance, NIGHT, day=LAST)
    assert result.success
    model = told(instance, "demand_model")[str(LAST)]
    (stored,) = fetch(settings.database_url, "SELECT version, window_digest FROM demand_model")
    assert (model.tags["dagster/data_version"], model.metadata["window_digest"].value) == stored
    assert model.metadata["series"].value == 12
    assert model.metadata["forecast_against_sold"].value.count("data:image/svg+xml") == 4
    check = evaluations_of(instance, "training_window", "completeness_contract")[str(LAST)]
    assert (check.passed, check.blocking) == (True, True)
    assert check.metadata["exclusions"].value == "none"


def test_a_quarantined_region_is_left_out_and_listed_with_its_reason(settings, instance):
    day = LAST - timedelta(days=50)
    quarantine(settings.database_url, day, "R02")
    seal_history(settings, instance)
    assert run_assets(settings, instance, NIGHT, day=LAST).success
    check = evaluations_of(instance, "training_window", "completeness_contract")[str(LAST)]
    row = f"| {day} | R02 | quarantined | quarantined: 1 fault: bad_number |"
    assert row in check.metadata["exclusions"].value
    lines = check.metadata["coverage"].value.splitlines()
    (row_of_r02,) = [line for line in lines if line.startswith("   R02 ")]
    assert row_of_r02 == "   R02 " + "·" * 39 + "q" + "·" * 50
    assert row in told(instance, "demand_model")[str(LAST)].metadata["exclusions"].value


def test_a_refused_window_keeps_the_fit_from_starting(settings, instance):
    for back in range(9):
        quarantine(settings.database_url, LAST - timedelta(days=back), "R03")
    seal_history(settings, instance)
    result = run_assets(settings, instance, NIGHT, day=LAST)
    assert not result.success
    assert "completeness_contract" in failure_of(result)
    assert told(instance, "demand_model") == {}
    check = evaluations_of(instance, "training_window", "completeness_contract")[str(LAST)]
    assert not check.passed
    assert check.description == (
        "refused: 9 of 360 partitions are missing (2.50%), more than 2.00%; "
        "region R03 misses 9 of the last 28 days, more than 7. "
        "Next: forecast-backfill quarantine list"
    )
    logged = [each.user_message for each in instance.all_logs(result.run_id)]
    assert f"no fit of {LAST}: {check.description}" in logged


def test_a_model_alone_is_refused_too_where_its_window_is(settings, instance):
    assert not run_assets(settings, instance, ["training_window"], day=LAST).success
    result = run_assets(settings, instance, ["demand_model"], day=LAST)
    assert "360 of 360 partitions are missing" in failure_of(result)


def test_forecasts_of_a_date_are_one_run_that_publishes_it(settings, instance):
    seal_history(settings, instance)
    run_assets(settings, instance, NIGHT, day=LAST)
    assert run_assets(settings, instance, ["demand_forecast"], ends=REGIONS_OF_LAST).success
    assert sorted(told(instance, "demand_forecast")) == [f"{LAST}|{each}" for each in REGIONS]
    checks = evaluations_of(instance, "demand_forecast", "forecast_complete")
    assert [each.passed for each in checks.values()] == [True] * 4
    assert fetch(
        settings.database_url, "SELECT date, status, workload FROM forecast_publication"
    ) == [(LAST, "fresh", "nightly")]


def test_some_regions_alone_do_not_publish_a_date(settings, instance):
    """The last of them does: by then every region has forecasts of the date's model."""
    seal_history(settings, instance)
    run_assets(settings, instance, NIGHT, day=LAST)
    for region, published in (("R01", 0), ("R02", 0), ("R03", 0), ("R04", 1)):
        run_assets(settings, instance, ["demand_forecast"], day=f"{LAST}|{region}")
        counted = fetch(settings.database_url, "SELECT count(*) FROM forecast_publication")
        assert counted == [(published,)], region


def test_forecasts_without_a_model_fail_each_check_and_say_so(settings, instance):
    result = run_assets(settings, instance, ["demand_forecast"], ends=REGIONS_OF_LAST)
    assert f"there is no model of {LAST}" in failure_of(result)
    checks = evaluations_of(instance, "demand_forecast", "forecast_complete")
    assert [each.passed for each in checks.values()] == [False] * 4
    assert told(instance, "demand_forecast") == {}


def test_the_same_night_again_keeps_every_data_version(settings, instance):
    seal_history(settings, instance)
    versions = []
    for _ in range(2):
        run_assets(settings, instance, NIGHT, day=LAST)
        run_assets(settings, instance, ["demand_forecast"], ends=REGIONS_OF_LAST)
        names = (*NIGHT, "demand_forecast")
        versions.append(
            {
                (name, key): each.tags["dagster/data_version"]
                for name in names
                for key, each in told(instance, name).items()
            }
        )
    assert versions[0] == versions[1]


def test_accuracy_is_measured_where_actuals_are_in_and_shown_by_horizon(settings, instance):
    past = LAST - timedelta(days=14)
    fill(settings.database_url, first=past - timedelta(days=89), last=FIRST - timedelta(days=1))
    first = past - timedelta(days=89)
    run_assets(settings, instance, ["demand_seal"], ends=(first, LAST), tags=BACKFILL)
    run_assets(settings, instance, ["training_window", "demand_model"], day=past, tags=BACKFILL)
    ends = (f"{past}|R01", f"{past}|R04")
    assert run_assets(settings, instance, ["demand_forecast"], ends=ends, tags=BACKFILL).success
    assert run_assets(settings, instance, ["forecast_accuracy"], ends=ends, tags=BACKFILL).success
    measured = told(instance, "forecast_accuracy")
    assert sorted(measured) == [f"{past}|{each}" for each in REGIONS]
    metadata = measured[f"{past}|R01"].metadata
    assert metadata["known_days"].value == 14
    assert 0 <= metadata["wape"].value < 1
    assert len(metadata["by_horizon"].value.splitlines()) == 16


def test_accuracy_before_any_day_is_in_fails_with_the_reason(settings, instance):
    result = run_assets(settings, instance, ["forecast_accuracy"], ends=REGIONS_OF_LAST)
    assert failure_of(result) == "nothing was measured: there is no forecast to measure"


def test_a_window_run_over_several_dates_is_refused(settings, instance):
    result = run_assets(settings, instance, ["training_window"], ends=(BEFORE, LAST))
    assert not result.success


def test_a_refit_of_a_changed_past_is_published_again_and_says_what_changed(settings, instance):
    seal_history(settings, instance)
    run_assets(settings, instance, NIGHT, day=LAST, tags=NIGHTLY)
    run_assets(settings, instance, ["demand_forecast"], ends=REGIONS_OF_LAST)
    day = LAST - timedelta(days=30)
    correct(settings.database_url, day, "R01", units=60)
    run_assets(settings, instance, ["demand_seal"], day=day, tags=BACKFILL)
    refit = ["training_window", "demand_model"]
    assert run_assets(settings, instance, refit, day=LAST, tags=BACKFILL).success
    model = told(instance, "demand_model")[str(LAST)]
    assert model.metadata["changed_dates"].value == str(day)
    ends = REGIONS_OF_LAST
    assert run_assets(settings, instance, ["demand_forecast"], ends=ends, tags=BACKFILL).success
    ((published, fitted),) = fetch(
        settings.database_url,
        "SELECT p.model_version, m.version FROM forecast_publication AS p"
        " JOIN demand_model AS m USING (date)",
    )
    assert published == fitted == model.tags["dagster/data_version"]


def test_a_refused_window_of_a_published_night_keeps_the_forecasts_of_the_night_before(
    settings, instance
):
    seal_history(settings, instance)
    run_assets(settings, instance, ["training_window", "demand_model"], day=BEFORE)
    ends = (f"{BEFORE}|R01", f"{BEFORE}|R04")
    run_assets(settings, instance, ["demand_forecast"], ends=ends)
    execute(settings.database_url, "DELETE FROM partition_ledger WHERE date = %s", LAST)
    assert not run_assets(settings, instance, NIGHT, day=LAST).success
    assert fetch(
        settings.database_url,
        "SELECT p.status, min(r.source_date), count(*) FROM forecast_publication AS p"
        " JOIN forecast_publication_region AS r USING (date) WHERE date = %s GROUP BY 1",
        LAST,
    ) == [("kept", BEFORE, 4)]
