"""A night that runs by itself through the real daemon, and a campaign that changes its history."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from dagster import AssetKey, DagsterInstance, DagsterRun, RunsFilter

from forecast_backfill.app.night_steps import run_night
from forecast_backfill.app.seal_day import seal_day
from forecast_backfill.core.states import Workload
from forecast_backfill.settings import Settings, load_settings
from forecast_backfill.warehouse.connect import resolve_database_url
from forecast_backfill.warehouse.embedded import EmbeddedServer
from forecast_backfill.wiring.dimension import dimension_ports
from forecast_backfill_tests.app.nights import fetch, night
from forecast_backfill_tests.dagster.conftest import CHECKOUT, Site, free_port
from forecast_backfill_tests.dagster.event_log import evaluations_of
from forecast_backfill_tests.dagster.night_chain import (
    LAST,
    REGIONS,
    WINDOW,
    WINDOW_SETTINGS,
    backfill,
    days,
    land_chain_dimensions,
    land_days,
)
from forecast_backfill_tests.dagster.test_daemon_backfill import forecast_backfill

BEFORE = LAST - timedelta(days=1)
CHANGED = LAST - timedelta(days=WINDOW)
PATIENCE = 120.0
LAUNCHED = "forecast_backfill/launch"


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """History is built and the night before the last one published; the last date is landed."""
    root = Path(tempfile.mkdtemp(prefix="fb-night-"))
    for name in ("dagster.yaml", "workspace.yaml"):
        shutil.copy(CHECKOUT / name, root)
    found = Site(dagster_home=root, home=root / "home", url=f"http://127.0.0.1:{free_port()}")
    fields = {
        "home": found.home,
        "regions": ",".join(REGIONS),
        "first_date": LAST - timedelta(days=30),
        "as_of": LAST,
        "dagster_url": found.url,
        "look_seconds": 2,
        **WINDOW_SETTINGS,
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in fields.items():
            patch.setenv(f"FORECAST_BACKFILL_{name.upper()}", str(value))
        patch.setenv("DAGSTER_HOME", str(root))
        patch.setenv("PYTHONPATH", str(CHECKOUT))
        patch.delenv("FORECAST_BACKFILL_DATABASE_URL", raising=False)
        land_chain_dimensions(found.landing)
        land_days(found.landing, days(16, 0))
        publish_the_night_before(load_settings(as_of=BEFORE))
        yield found
        EmbeddedServer(found.home).stop()
    shutil.rmtree(root)


def publish_the_night_before(settings: Settings) -> None:
    """As it was left yesterday."""
    pinned = settings.model_copy(update={"database_url": resolve_database_url(settings)})
    backfill(pinned.model_copy(update={"seam": LAST}), days(16, 1))
    with night(pinned, workload=Workload.BACKFILL) as wiring:
        for day in days(16, 2):
            seal_day(day, request=wiring.request(), ports=wiring.ports)
    with night(pinned) as wiring:
        done = run_night(
            BEFORE,
            request=wiring.request(),
            ports=wiring.ports,
            dimensions=dimension_ports(pinned, wiring.session),
        )
    assert done.is_published


@pytest.fixture(scope="module")
def instance(dagster_dev: str) -> Iterator[DagsterInstance]:
    """Dagster's instance, as the daemon has it."""
    with DagsterInstance.get() as found:
        yield found


@pytest.fixture(scope="module")
def url(dagster_dev: str) -> str:
    """The database that daemon and tests share."""
    return resolve_database_url(load_settings())


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Wait until the condition holds."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.5)
    raise AssertionError(f"waited {PATIENCE:.0f} s for {what}")


@pytest.fixture(scope="module")
def published(url: str, instance: DagsterInstance) -> list[DagsterRun]:
    """The runs of the last night, once readers see its forecasts."""
    query = "SELECT 1 FROM forecast_publication WHERE date = %s AND status = 'fresh'"
    wait_for(lambda: fetch(url, query, LAST) == [(1,)], f"the publication of {LAST}")
    wait_for(lambda: planned(instance, "forecast", LAST)[0].is_finished, "its run's end")
    return list(instance.get_runs(RunsFilter(tags={"forecast_backfill/workload": "nightly"})))


@pytest.fixture(scope="module")
def refitted(url: str, instance: DagsterInstance, published: list, site: Site) -> dict[str, int]:
    """How many models of each date Dagster knows, after a campaign changed one past date."""
    land_days(site.landing, [CHANGED], extra=9)
    ends = ("--from", str(CHANGED), "--to", str(CHANGED + timedelta(days=1)))
    done = forecast_backfill("backfill", *ends, "--watch", "--json")
    assert done.returncode == 0, done.stderr
    wait_for(lambda: bool(planned(instance, "forecast", BEFORE)), "forecasts after the refit")
    wait_for(lambda: all(run.is_finished for run in all_planned(instance)), "the runs' end")
    return dict(counted(instance, "demand_model"))


def all_planned(instance: DagsterInstance) -> list[DagsterRun]:
    runs = instance.get_runs(RunsFilter(tags={"forecast_backfill/launched_by": "planner"}))
    return list(runs)


def planned(instance: DagsterInstance, stage: str, day: object) -> list[DagsterRun]:
    """The runs that a sensor launched for the stage and date."""
    return [
        run
        for run in all_planned(instance)
        if run.tags[LAUNCHED].startswith(f"{stage}/") and f"/{day} " in run.tags[LAUNCHED]
    ]


def counted(instance: DagsterInstance, asset: str) -> Counter[str]:
    records = instance.fetch_materializations(AssetKey(asset), limit=1000).records
    return Counter(str(record.partition_key) for record in records)


def test_the_night_runs_by_itself_in_three_runs_each_once(published: list[DagsterRun]) -> None:
    stages = sorted(run.tags[LAUNCHED].split("/")[0] for run in published)
    assert stages == ["forecast", "night", "regions"]
    assert all(run.is_success for run in published)
    assert {run.tags["dagster/priority"] for run in published} == {"10"}


def test_every_asset_of_the_night_is_materialized_for_its_date(
    published: list[DagsterRun], instance: DagsterInstance
) -> None:
    for asset in ("demand_seal", "training_window"):
        assert counted(instance, asset)[str(LAST)] == 1
    assert counted(instance, "demand_forecast") >= Counter([f"{LAST}|R01", f"{LAST}|R02"])
    contract = evaluations_of(instance, "training_window", "completeness_contract")
    assert contract[str(LAST)].passed


def test_readers_see_every_series_and_day(published: list[DagsterRun], url: str) -> None:
    assert fetch(
        url,
        "SELECT region, count(*), min(target_date), max(target_date) FROM published_forecast"
        " WHERE date = %s GROUP BY region ORDER BY region",
        LAST,
    ) == [(region, 6, LAST + timedelta(days=1), LAST + timedelta(days=3)) for region in REGIONS]


def test_a_campaign_refits_exactly_the_windows_that_hold_the_changed_date(
    refitted: dict[str, int],
) -> None:
    """The last window begins after the changed date; the one before was fitted outside Dagster."""
    assert refitted == {str(LAST): 1, str(BEFORE): 1}


def test_refits_run_as_backfill(refitted: dict[str, int], instance: DagsterInstance) -> None:
    runs = [
        run
        for stage in ("seal", "refit")
        for run in all_planned(instance)
        if run.tags[LAUNCHED].startswith(f"{stage}/")
    ]
    assert [run.tags["forecast_backfill/workload"] for run in runs] == ["backfill", "backfill"]
    assert all(run.is_success for run in runs)


def test_a_refit_is_published_with_what_the_campaign_changed(
    refitted: dict[str, int], url: str
) -> None:
    assert fetch(
        url,
        "SELECT published.status, published.workload, model.changed_dates,"
        " published.model_version = model.version"
        " FROM forecast_publication AS published JOIN demand_model AS model USING (date)"
        " WHERE date = %s",
        BEFORE,
    ) == [("fresh", Workload.BACKFILL.value, [CHANGED], True)]
