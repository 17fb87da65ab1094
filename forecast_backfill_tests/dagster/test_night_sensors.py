"""Schedule and sensors over real PostgreSQL: a night, an outage, late files, a campaign."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import pytest
from dagster import AssetKey, DagsterInstance, DefaultScheduleStatus, DefaultSensorStatus
from dagster._utils.schedules import schedule_execution_time_iterator

from forecast_backfill.app.seal_day import seal_day
from forecast_backfill.core.outcome import Refused, Written
from forecast_backfill.core.states import Workload
from forecast_backfill.dagster_defs.assembly import build_definitions
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.campaigns import register_campaign
from forecast_backfill_tests.app.nights import fetch, night
from forecast_backfill_tests.dagster.night_chain import (
    LAST,
    WINDOW,
    Daemon,
    at,
    backfill,
    chain_settings,
    days,
    land_chain_dimensions,
    land_days,
)
from forecast_backfill_tests.dagster.night_runs import run_assets, told

PUBLISHED = "SELECT date, status, workload FROM forecast_publication ORDER BY date"
BEFORE_CUT_OFF = datetime(2026, 11, 28, 9, 0, tzinfo=UTC)
AFTER_CUT_OFF = datetime(2026, 11, 28, 10, 0, tzinfo=UTC)
START = datetime(2026, 11, 28, 8, 30, tzinfo=UTC)


@pytest.fixture
def settings(database_url: str, tmp_path) -> Settings:
    found = chain_settings(database_url, tmp_path)
    land_chain_dimensions(found.landing_directory)
    return found


@pytest.fixture
def instance() -> Iterator[DagsterInstance]:
    with DagsterInstance.ephemeral() as found:
        yield found


@pytest.fixture
def daemon(settings: Settings, instance: DagsterInstance) -> Daemon:
    return Daemon(settings, instance)


def published(settings: Settings) -> list[tuple]:
    return fetch(settings.database_url, PUBLISHED)


def with_history(settings: Settings, daemon: Daemon, *, first: int = 14, last: int = 1) -> None:
    """A campaign has built the dates, and history is sealed."""
    land_days(settings.landing_directory, days(first, last))
    backfill(settings, days(first, last))
    daemon.settle("history")


def test_schedule_and_sensors_are_running_unless_switched_off(settings):
    repository = build_definitions(settings).get_repository_def()
    (schedule,) = repository.schedule_defs
    assert schedule.default_status is DefaultScheduleStatus.RUNNING
    statuses = {each.name: each.default_status for each in repository.sensor_defs}
    running = DefaultSensorStatus.RUNNING
    assert statuses == {"night": running, "history": running, "watch": running}


@pytest.mark.parametrize("day", [date(2026, 3, 8), date(2026, 11, 1)])
def test_the_schedule_fires_once_on_a_day_on_which_the_clocks_change(settings, day):
    (schedule,) = build_definitions(settings).get_repository_def().schedule_defs
    noon = datetime(day.year, day.month, day.day, 17, tzinfo=UTC)
    ticks = schedule_execution_time_iterator(
        (noon - timedelta(days=2)).timestamp(), schedule.cron_schedule, "America/New_York"
    )
    local = [next(ticks) for _ in range(4)]
    assert [(each.date() - day).days for each in local] == [-1, 0, 1, 2]
    assert {(each.hour, each.minute) for each in local} == {(3, 30)}


def test_the_schedule_launches_the_regions_as_one_range_tagged_run(settings, daemon):
    land_days(settings.landing_directory, [LAST])
    (request,), _ = daemon.tick(START)
    assert [key.to_user_string() for key in request.asset_selection] == ["daily_demand"]
    tags = request.tags
    assert (
        tags["dagster/asset_partition_range_start"],
        tags["dagster/asset_partition_range_end"],
        tags["forecast_backfill/workload"],
        tags["dagster/priority"],
    ) == ("2026-11-27|R01", "2026-11-27|R02", "nightly", "10")


def test_a_night_without_any_delivery_does_nothing(settings, daemon, instance):
    requests, reason = daemon.tick(START)
    assert requests == []
    assert "waits for R01, R02 until 05:00 EST" in reason
    assert daemon.settle("night", "history") == []
    assert published(settings) == []
    assert list(instance.get_runs()) == []


def test_a_night_runs_by_itself_from_landed_files_to_published_forecasts(
    settings, daemon, instance
):
    with_history(settings, daemon)
    assert [each.tags["forecast_backfill/workload"] for each in daemon.ran] == ["backfill"]
    land_days(settings.landing_directory, [LAST])
    assert daemon.settle("night") == [
        f"regions nightly {LAST} R01 … {LAST} R02",
        f"night nightly {LAST} R01 … {LAST} R02",
        f"forecast nightly {LAST} R01 … {LAST} R02",
    ]
    assert published(settings) == [(LAST, "fresh", "nightly")]
    assert all(run.is_success for run in instance.get_runs())
    assert sorted(told(instance, "demand_forecast")) == [f"{LAST}|R01", f"{LAST}|R02"]
    assert daemon.settle("night", "history") == []


def test_the_sensor_waits_for_the_schedule_at_the_start_of_a_night(settings, daemon):
    land_days(settings.landing_directory, [LAST])
    with at(START):
        requests, reason = daemon.look("night")
    assert (requests, reason) == ([], "2026-11-27: its night begins at 2026-11-28 03:30 EST")


def test_a_late_file_is_waited_for_until_the_cut_off_and_then_counts_as_missing(settings, daemon):
    with_history(settings, daemon)
    land_days(settings.landing_directory, [LAST], ["R01"])
    with at(BEFORE_CUT_OFF):
        assert daemon.settle("night") == [f"regions nightly {LAST} R01 … {LAST} R01"]
        assert daemon.look("night")[1] == "2026-11-27: waits for R02 until 05:00 EST"
    with at(AFTER_CUT_OFF):
        daemon.settle("night")
    assert published(settings) == [(LAST, "degraded", "nightly")]
    assert fetch(
        settings.database_url,
        "SELECT partition_date, region, state, reason FROM model_coverage WHERE date = %s",
        LAST,
    ) == [(LAST, "R02", "missing", "no source was landed or tried")]


def test_a_file_that_comes_after_the_cut_off_is_built_and_the_night_is_fitted_again(
    settings, daemon
):
    """As backfill: it must not take the nightly's place."""
    test_a_late_file_is_waited_for_until_the_cut_off_and_then_counts_as_missing(settings, daemon)
    land_days(settings.landing_directory, [LAST], ["R02"])
    assert daemon.settle("night", "history") == [
        f"regions nightly {LAST} R02 … {LAST} R02",
        f"seal backfill {LAST} R01 … {LAST} R02",
        f"refit backfill {LAST} R01 … {LAST} R02",
        f"forecast backfill {LAST} R01 … {LAST} R02",
    ]
    assert published(settings) == [(LAST, "fresh", "backfill")]


def test_after_an_outage_of_three_nights_every_missed_night_is_run_oldest_first(
    settings, daemon, database_url
):
    with_history(settings, daemon, first=14, last=4)
    before = chain_settings(database_url, settings.home, as_of=LAST - timedelta(days=3))
    land_days(settings.landing_directory, days(3, 0))
    Daemon(before, daemon._instance).settle("night")
    assert published(settings) == [(LAST - timedelta(days=3), "fresh", "nightly")]
    launched = daemon.settle("night")
    assert [each.split()[0] for each in launched] == ["regions", "night", "forecast"] * 3
    assert [each.split()[2] for each in launched] == [
        str(day) for day in days(2, 0) for _ in range(3)
    ]
    assert published(settings) == [(day, "fresh", "nightly") for day in days(3, 0)]


def test_during_an_outage_the_missed_dates_are_nightlys_and_a_backfill_of_them_is_refused(
    settings, daemon, database_url
):
    before = chain_settings(database_url, settings.home, as_of=LAST - timedelta(days=3))
    land_days(settings.landing_directory, days(14, 0))
    with night(before) as wiring:
        seal_day(LAST - timedelta(days=3), request=wiring.request(), ports=wiring.ports)
    outcomes = backfill(settings, days(4, 1), ["R01"])
    assert [type(each) for each in outcomes] == [Written, Written, Refused, Refused]
    assert outcomes[2].refusal.owner is Workload.NIGHTLY


def test_a_refused_window_starts_no_fit_keeps_what_is_published_and_queues_a_notice(
    settings, daemon, instance, database_url
):
    with_history(settings, daemon, first=14, last=2)
    before = chain_settings(database_url, settings.home, as_of=LAST - timedelta(days=1))
    land_days(settings.landing_directory, [LAST - timedelta(days=1)])
    Daemon(before, instance).settle("night")
    with at(AFTER_CUT_OFF):
        daemon.settle("night")
    assert published(settings) == [
        (LAST - timedelta(days=1), "fresh", "nightly"),
        (LAST, "kept", "nightly"),
    ]
    assert str(LAST) not in told(instance, "demand_model")
    notices = fetch(settings.database_url, "SELECT kind, audience FROM notice ORDER BY kind")
    assert ("contract_refused", "nightly") in notices
    assert ("publication_kept", "nightly") in notices


def test_a_campaign_leads_to_one_fit_of_exactly_the_affected_windows(settings, daemon, instance):
    """Three nights are published; a campaign changes a date that two of their windows hold."""
    with_history(settings, daemon, first=14, last=1)
    changed = LAST - timedelta(days=WINDOW)
    nights = days(3, 0)
    fit = ["training_window", "demand_model"]
    land_days(settings.landing_directory, [LAST])
    daemon.settle("night")
    for day in nights[:-1]:
        run_assets(settings, instance, fit, day=day)
        run_assets(settings, instance, ["demand_forecast"], ends=(f"{day}|R01", f"{day}|R02"))
    before = {key: each.tags["dagster/data_version"] for key, each in models(instance).items()}
    assert sorted(before) == [str(day) for day in nights]
    land_days(settings.landing_directory, [changed, changed - timedelta(days=1)], extra=9)
    backfill(settings, [changed - timedelta(days=1), changed])
    launched = daemon.settle("history")
    # The windows of the last night begin after the changed dates.
    affected = nights[:-1]
    assert [each for each in launched if each.startswith("refit")] == [
        f"refit backfill {day} R01 … {day} R02" for day in affected
    ]
    after = {key: each.tags["dagster/data_version"] for key, each in models(instance).items()}
    assert [day for day in sorted(after) if after[day] != before[day]] == [
        str(day) for day in affected
    ]
    counted = [counted_models(instance, day) for day in nights]
    assert counted == [2, 2, 2, 1]
    assert daemon.settle("night", "history") == []


def models(instance: DagsterInstance) -> dict:
    return told(instance, "demand_model")


def counted_models(instance: DagsterInstance, day: date) -> int:
    records = instance.fetch_materializations(AssetKey("demand_model"), limit=1000).records
    return sum(str(record.partition_key) == str(day) for record in records)


def test_the_first_night_waits_for_the_campaign_that_builds_its_window(settings, daemon):
    land_days(settings.landing_directory, days(14, 0))
    assert daemon.look("night")[0] != []
    daemon.run(daemon.look("night")[0])
    backfill(settings, days(14, 1))
    requests, reason = daemon.look("night")
    assert requests == []
    assert reason == "2026-11-27: the first night waits for its history: " + (
        "dates before it are being sealed"
    )
    daemon.settle("history")
    daemon.settle("night")
    assert published(settings) == [(LAST, "fresh", "nightly")]


def test_the_watch_tells_of_a_missed_deadline(settings, daemon):
    requests, reason = daemon.look("watch")
    assert requests == []
    assert "deadline notices due" in reason


def test_a_finished_campaign_with_a_quarantine_is_told_once_to_whoever_owns_campaigns(
    settings, daemon
):
    day = LAST - timedelta(days=5)
    land_days(settings.landing_directory, [day])
    manifest = settings.landing_directory / f"date={day}" / "region=R02" / "manifest.json"
    manifest.unlink()
    backfill(settings, [day])
    with night(settings) as wiring:
        register_campaign(
            wiring.session,
            campaign_id="campaign",
            workload=Workload.BACKFILL,
            partitions=2,
            launched_by="me",
            reprocess=False,
        )
    for _ in range(2):
        daemon.look("watch")
    ((title, body),) = fetch(
        settings.database_url,
        "SELECT title, body FROM notice WHERE kind = 'campaign_finished' AND audience = 'backfill'",
    )
    assert title == "Campaign campaign finished: 1 done, 1 not"
    assert body.startswith(f"{day} R02: ")


def test_accuracy_is_measured_as_the_horizon_comes_in(settings, daemon, instance, database_url):
    early = LAST - timedelta(days=3)
    before = chain_settings(database_url, settings.home, as_of=early)
    with_history(before, Daemon(before, instance), first=14, last=4)
    land_days(settings.landing_directory, days(3, 0))
    Daemon(before, instance).settle("night")
    daemon.settle("night")
    launched = daemon.settle("history")
    assert launched[0] == f"accuracy backfill {early} R01 … {early} R02"
    assert told(instance, "forecast_accuracy")[f"{early}|R01"].metadata["known_days"].value == 3
