"""`daily_demand` without a daemon: batch shapes, batch size 1, the key guard, Dagster's own CLI."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from dagster import AssetKey, DagsterInstance, ExecuteInProcessResult, materialize

from forecast_backfill.core.errors import SettingRefused
from forecast_backfill.dagster_defs.assembly import build_definitions
from forecast_backfill.dagster_defs.assets import build_daily_demand
from forecast_backfill.dagster_defs.partitions import build_date_regions
from forecast_backfill.settings import load_settings
from forecast_backfill.wiring.partition import SystemClock, calendar_of, load_engine
from forecast_backfill_tests.dagster.conftest import Site
from forecast_backfill_tests.dagster.event_log import evaluations, materialized

START = "dagster/asset_partition_range_start"
END = "dagster/asset_partition_range_end"


@pytest.fixture
def instance(site: Site) -> Iterator[DagsterInstance]:
    """An instance in memory; the ledger is the module's."""
    with DagsterInstance.ephemeral() as found:
        yield found


def run(
    instance: DagsterInstance, tags: dict[str, str], *, key: str | None = None
) -> ExecuteInProcessResult:
    """Materialize what the tags or the key name; the result, also of a failure."""
    settings = load_settings()
    partitions = build_date_regions(settings, calendar_of(settings, SystemClock()))
    asset = build_daily_demand(settings, partitions, load_engine(settings).code_version)
    return materialize(
        [asset], instance=instance, tags=tags, partition_key=key, raise_on_error=False
    )


def test_one_date_of_several_regions_is_one_run(instance: DagsterInstance) -> None:
    result = run(instance, {START: "2026-03-02|R01", END: "2026-03-02|R03"})
    assert result.success
    assert materialized(instance) == ["2026-03-02|R01", "2026-03-02|R02", "2026-03-02|R03"]


def test_one_region_over_several_dates_is_one_run(instance: DagsterInstance) -> None:
    result = run(instance, {START: "2026-03-02|R01", END: "2026-03-04|R01"})
    assert result.success
    assert materialized(instance) == ["2026-03-02|R01", "2026-03-03|R01", "2026-03-04|R01"]


def test_a_run_of_a_single_partition_works_too(instance: DagsterInstance) -> None:
    assert run(instance, {}, key="2026-03-04|R03").success
    assert materialized(instance) == ["2026-03-04|R03"]


def test_each_partition_of_a_range_has_its_own_check_evaluations(
    instance: DagsterInstance,
) -> None:
    result = run(instance, {START: "2026-03-03|R01", END: "2026-03-03|R03"})
    assert not result.success
    told = {key: each.passed for key, each in evaluations(instance, "source_intact").items()}
    assert told == {"2026-03-03|R01": True, "2026-03-03|R02": False, "2026-03-03|R03": True}
    assert materialized(instance) == ["2026-03-03|R01", "2026-03-03|R03"]


@pytest.mark.parametrize(("workload", "is_lowered"), [("backfill", True), ("nightly", False)])
def test_a_run_of_backfill_lowers_its_process_and_one_of_nightly_does_not(
    instance: DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
    workload: str,
    is_lowered: bool,
) -> None:
    """It is noted, not done: this process has tests to run."""
    asked: list[int] = []
    monkeypatch.setenv("FORECAST_BACKFILL_BACKFILL_NICE", "19")
    monkeypatch.setattr("os.nice", lambda number: asked.append(number) or 0)
    monkeypatch.setattr(
        "forecast_backfill.wiring.process_priority._lower_io_priority", lambda: None
    )
    tags = {"forecast_backfill/workload": workload}
    run(instance, tags, key="2026-03-02|R01")
    assert (19 in asked) is is_lowered


def test_a_repeated_partition_keeps_its_data_version(instance: DagsterInstance) -> None:
    tags = {START: "2026-03-02|R04", END: "2026-03-02|R04"}
    versions = []
    for reprocess in ({}, {}, {"forecast_backfill/reprocess": "true"}):
        result = run(instance, {**tags, **reprocess})
        (event,) = result.get_asset_materialization_events()
        found = event.step_materialization_data.materialization
        versions.append((found.metadata["outcome"].value, found.tags["dagster/data_version"]))
    assert [outcome for outcome, _ in versions] == ["written", "unchanged", "written"]
    assert len({version for _, version in versions}) == 1


def test_a_run_that_names_a_range_and_a_partition_is_refused(instance: DagsterInstance) -> None:
    tags = {START: "2026-03-02|R01", END: "2026-03-02|R02", "dagster/partition": "2026-03-02|R01"}
    with pytest.raises(Exception, match="range"):
        run(instance, tags).asset_value("daily_demand")


def test_a_run_whose_seam_forbids_its_date_says_so(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORECAST_BACKFILL_SEAM", "2026-03-03")
    result = run(instance, {START: "2026-03-03|R01", END: "2026-03-03|R01"})
    assert not result.success
    assert "nightly owns 2026-03-03" in _failure(result)


def test_definitions_load_with_a_batch_of_one(monkeypatch: pytest.MonkeyPatch, site: Site) -> None:
    monkeypatch.setenv("FORECAST_BACKFILL_BATCH_SIZE", "1")
    graph = build_definitions(load_settings()).resolve_asset_graph()
    assert graph.get(AssetKey("daily_demand")).backfill_policy.max_partitions_per_run == 1


def test_a_first_date_that_is_not_over_is_refused_at_load(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORECAST_BACKFILL_FIRST_DATE", "2099-01-01")
    with pytest.raises(SettingRefused, match="FORECAST_BACKFILL_FIRST_DATE=2099-01-01"):
        build_definitions(load_settings())


def test_the_last_partition_is_as_of(site: Site) -> None:
    settings = load_settings()
    keys = build_date_regions(settings, calendar_of(settings, SystemClock())).get_partition_keys()
    assert (keys[0], keys[-1], len(keys)) == ("2026-03-02|R01", "2026-03-05|R04", 16)


def test_dagster_asset_materialize_does_one_partition(site: Site) -> None:
    found = _dagster_cli("--partition", "2026-03-04|R02")
    assert found.returncode == 0, found.stderr
    assert "RUN_SUCCESS" in found.stderr


def test_dagster_asset_materialize_does_a_range_in_one_run(site: Site) -> None:
    found = _dagster_cli(
        "--partition-range", "2026-03-02|R01...2026-03-03|R01", FORECAST_BACKFILL_BATCH_SIZE="all"
    )
    assert found.returncode == 0, found.stderr
    assert found.stderr.count("ASSET_MATERIALIZATION - ") == 2


def test_dagster_asset_materialize_fails_where_a_source_is_refused(site: Site) -> None:
    found = _dagster_cli("--partition", "2026-03-03|R02")
    assert found.returncode == 1
    assert "1 of 1 partitions are not done: 1 quarantined" in found.stderr


def _dagster_cli(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dagster", "asset", "materialize", "--select", "daily_demand"]
    return subprocess.run(
        [*command, "-m", "forecast_backfill.definitions", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **settings},
    )


def _failure(result: ExecuteInProcessResult) -> str:
    event = next(each for each in result.all_events if each.is_step_failure)
    failure = event.step_failure_data.user_failure_data
    return "" if failure is None else str(failure.description)
