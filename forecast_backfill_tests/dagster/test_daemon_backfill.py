"""A campaign through webserver, daemon and queue: 3 dates × 4 regions, 2 sources damaged."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
from dagster import (
    AssetCheckKey,
    AssetCheckSeverity,
    AssetKey,
    DagsterInstance,
    DagsterRunStatus,
)
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus

from forecast_backfill.app.campaign import BackfillState
from forecast_backfill.dagster_defs.graphql_client import DagsterClient
from forecast_backfill.dagster_defs.partition_keys import format_key
from forecast_backfill.settings import load_settings
from forecast_backfill.warehouse.connect import resolve_database_url
from forecast_backfill_tests.browser.page import chromium, text_of, visit
from forecast_backfill_tests.dagster.conftest import Site
from forecast_backfill_tests.dagster.event_log import evaluations, materialized, runs_of
from forecast_backfill_tests.dagster.small_chain import (
    AFTER_LAST,
    COMMA,
    DAYS,
    GOOD,
    REGIONS,
    UNMANIFESTED,
    repair,
)

GOOD_KEYS = sorted(format_key(each) for each in GOOD)
CLOSING_SECONDS = 100.0

needs_browser = pytest.mark.skipif(
    chromium() is None, reason="no Chromium on this machine: apt-get install chromium"
)


def forecast_backfill(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Call the command line as a user does."""
    command = [sys.executable, "-c", "from forecast_backfill.cli.main import main; main()"]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=200)


def wait_until_closed(client: DagsterClient, backfill_id: str) -> str:
    """Wait until Dagster has closed the backfill; its last status."""
    deadline = time.monotonic() + CLOSING_SECONDS
    while time.monotonic() < deadline:
        progress = client.progress(backfill_id)
        if progress.state is not BackfillState.ACTIVE:
            return progress.status
        time.sleep(0.5)
    raise AssertionError(f"the backfill {backfill_id} was not closed in {CLOSING_SECONDS} s")


@pytest.fixture(scope="module")
def instance(dagster_dev: str) -> Iterator[DagsterInstance]:
    """Dagster's instance, as the daemon has it."""
    with DagsterInstance.get() as found:
        yield found


@pytest.fixture(scope="module")
def campaign(dagster_dev: str) -> dict:
    """The campaign launched by the command line and watched to its end: exit code and JSON."""
    found = forecast_backfill(
        "backfill", "--from", str(DAYS[0]), "--to", str(AFTER_LAST), "--watch", "--json"
    )
    assert found.stdout, found.stderr
    return {"exit": found.returncode, **json.loads(found.stdout)}


@pytest.fixture(scope="module")
def status(dagster_dev: str, campaign: dict) -> str:
    """Dagster's own verdict on the campaign."""
    return wait_until_closed(DagsterClient(dagster_dev), campaign["campaign_id"])


def test_the_command_counts_ten_done_and_two_quarantined_and_fails(campaign: dict) -> None:
    counts = {name: campaign[name] for name in ("requested", "done", "quarantined", "left")}
    assert counts == {"requested": 12, "done": 10, "quarantined": 2, "left": 0}
    assert campaign["exit"] == 1


def test_dagster_closes_the_backfill_as_failed(status: str) -> None:
    assert status == "COMPLETED_FAILED"


def test_exactly_the_good_partitions_are_materialized_each_once(
    status: str, instance: DagsterInstance
) -> None:
    assert materialized(instance) == GOOD_KEYS


def test_dagster_counts_the_good_partitions_as_done_and_the_others_as_failed(
    status: str, instance: DagsterInstance, dagster_dev: str, campaign: dict
) -> None:
    counts = DagsterClient(dagster_dev).partition_counts(campaign["campaign_id"])
    assert counts == {"materialized": 10, "failed": 2, "in_progress": 0, "targeted": 12}


def test_a_decimal_comma_is_told_with_file_line_column_and_value(
    status: str, instance: DagsterInstance
) -> None:
    found = evaluations(instance, "source_intact")[format_key(COMMA)]
    assert not found.passed
    shown = {
        name: found.metadata[name].value for name in ("file", "line", "column", "value", "code")
    }
    assert shown == {
        "file": "sales.csv.gz",
        "line": "3",
        "column": "sales_value",
        "value": "3,00",
        "code": "decimal_comma",
    }
    assert found.metadata["reason"].value


def test_a_missing_manifest_is_told_as_such(status: str, instance: DagsterInstance) -> None:
    found = evaluations(instance, "source_intact")[format_key(UNMANIFESTED)]
    assert (found.passed, found.metadata["code"].value) == (False, "manifest_missing")


def test_every_good_partition_passes_both_checks(status: str, instance: DagsterInstance) -> None:
    for check in ("source_intact", "reconcile_parity"):
        passed = [key for key, found in evaluations(instance, check).items() if found.passed]
        assert sorted(passed) == GOOD_KEYS


def test_a_passed_check_counts_for_the_latest_materialization_of_its_partition(
    status: str, instance: DagsterInstance
) -> None:
    """Else the checks view shows it as never run."""
    key = AssetCheckKey(AssetKey("daily_demand"), "source_intact")
    found = instance.event_log_storage.get_asset_check_partition_info([key])
    passed = AssetCheckExecutionRecordStatus.SUCCEEDED
    good = [each for each in found if each.latest_execution_status is passed]
    assert sorted(str(each.partition_key) for each in good) == GOOD_KEYS
    assert all(each.is_current for each in good)
    assert all(each.latest_materialization_storage_id is not None for each in good)


def test_parity_of_a_refused_source_is_shown_as_not_judged_instead_of_crashed(
    status: str, instance: DagsterInstance
) -> None:
    key = AssetCheckKey(AssetKey("daily_demand"), "reconcile_parity")
    found = instance.event_log_storage.get_asset_check_partition_info([key])
    statuses = {str(each.partition_key): each.latest_execution_status for each in found}
    failed = AssetCheckExecutionRecordStatus.FAILED
    shown = sorted(key for key, status in statuses.items() if status is failed)
    assert shown == sorted([format_key(COMMA), format_key(UNMANIFESTED)])
    told = evaluations(instance, "reconcile_parity")
    assert {told[key].severity for key in shown} == {AssetCheckSeverity.WARN}


def test_runs_with_a_quarantined_partition_fail_with_a_summary_of_one_screen(
    status: str, instance: DagsterInstance, campaign: dict
) -> None:
    runs = runs_of(instance, campaign["campaign_id"])
    failed = [run for run in runs if run.status is DagsterRunStatus.FAILURE]
    assert 1 <= len(failed) <= 2
    summaries = [failure_of(instance, run.run_id) for run in failed]
    assert sum("2026-03-03 R02  quarantined: sales.csv.gz:3" in text for text in summaries) == 1
    assert all("forecast-backfill quarantine list" in text for text in summaries)
    assert all(len(text.splitlines()) <= 24 for text in summaries)


def test_every_run_counts_as_backfill_and_holds_at_most_a_batch(
    status: str, instance: DagsterInstance, campaign: dict
) -> None:
    runs = runs_of(instance, campaign["campaign_id"])
    assert {run.tags["forecast_backfill/workload"] for run in runs} == {"backfill"}
    assert {run.tags["dagster/priority"] for run in runs} == {"-10"}
    assert len(runs) >= 3


def test_the_ledger_has_ten_done_and_two_quarantined_without_output(status: str) -> None:
    with psycopg.connect(resolve_database_url(load_settings())) as connection:
        rows = connection.execute(
            "SELECT status, output, output_rows, output_units, output_revenue_cents, count(*)"
            " FROM forecast_backfill.partition_ledger GROUP BY 1, 2, 3, 4, 5 ORDER BY 1"
        ).fetchall()
    assert rows == [("done", "current", 2, 4, 600, 10), ("quarantined", "absent", *[None] * 3, 2)]


def test_status_tells_the_campaign(campaign: dict) -> None:
    found = forecast_backfill("status", "--campaign", campaign["campaign_id"])
    assert "10/12 done · 2 quarantined · 0 failed · 0 left" in found.stdout
    assert "2026-03-03 R02  sales.csv.gz:3 sales_value '3,00' decimal_comma" in found.stdout


def test_quarantine_show_lists_every_fault_of_a_partition(campaign: dict) -> None:
    found = forecast_backfill("quarantine", "show", "2026-03-03", "R02")
    assert "sales.csv.gz:3 sales_value '3,00' decimal_comma" in found.stdout


@needs_browser
def test_the_campaigns_page_shows_what_succeeded_and_what_failed(
    status: str, dagster_dev: str, campaign: dict
) -> None:
    shown = text_of(visit(f"{dagster_dev}/runs/b/{campaign['campaign_id']}"))
    assert "daily_demand 100% completed 12 0 10 2" in shown


@needs_browser
def test_the_checks_view_shows_both_checks_of_the_asset(status: str, dagster_dev: str) -> None:
    shown = text_of(visit(f"{dagster_dev}/assets/daily_demand?view=checks"))
    assert "source_intact" in shown
    assert "reconcile_parity" in shown


def test_a_retry_without_a_changed_source_is_refused(campaign: dict) -> None:
    found = forecast_backfill("quarantine", "retry")
    assert found.returncode == 1
    assert "no quarantined source has changed since it was refused" in found.stderr


def test_a_repaired_source_is_retried_alone_and_closes_its_quarantine(
    status: str, site: Site, instance: DagsterInstance
) -> None:
    repair(site.landing, COMMA)
    found = forecast_backfill("quarantine", "retry", "--watch", "--json")
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["requested"] == 1
    assert materialized(instance) == sorted([*GOOD_KEYS, format_key(COMMA)])
    left = json.loads(forecast_backfill("quarantine", "list", "--json").stdout)
    assert [(each["date"], each["region"]) for each in left] == [("2026-03-04", "R04")]


def test_a_repeated_campaign_skips_what_is_done_and_dagster_calls_it_a_success(
    status: str, dagster_dev: str
) -> None:
    found = forecast_backfill(
        *("backfill", "--from", str(DAYS[0]), "--to", str(DAYS[1]), "--watch", "--json")
    )
    told = json.loads(found.stdout)
    assert (found.returncode, told["unchanged"], told["written"]) == (0, len(REGIONS), 0)
    closed = wait_until_closed(DagsterClient(dagster_dev), told["campaign_id"])
    assert closed == "COMPLETED_SUCCESS"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--from", "2026-03-04", "--to", "2026-03-02"), "holds no date"),
        (("--from", "2026-03-04", "--to", "2026-03-04"), "holds no date"),
        (("--from", "2026-03-02", "--to", "2026-03-03", "--regions", "R9"), "unknown region 'R9'"),
        (("--from", "2026-03-02", "--to", "2026-03-06"), "nightly owns 2026-03-05"),
    ],
)
def test_a_launch_that_cannot_be_meant_is_refused(
    site: Site, arguments: tuple[str, ...], words: str
) -> None:
    found = forecast_backfill("backfill", *arguments)
    assert found.returncode == 1
    assert words in found.stderr
    assert "Traceback" not in found.stderr


def test_a_code_server_that_was_killed_is_up_again_after_up(status: str, site: Site) -> None:
    """The webserver alone answers as if all were well."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if Path(process.cwd()) == site.dagster_home and "grpc" in process.cmdline():
                process.kill()
    found = forecast_backfill("up", "--dagster", "--json")
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["code_was_reloaded"]
    assert "no run could begin: the code server of" in found.stderr
    again = forecast_backfill("up", "--dagster", "--json")
    assert not json.loads(again.stdout)["code_was_reloaded"]


def failure_of(instance: DagsterInstance, run_id: str) -> str:
    """The words with which the run's step failed."""
    for entry in instance.all_logs(run_id):
        event = entry.dagster_event
        if event is not None and event.is_step_failure:
            return str(event.step_failure_data.user_failure_data.description)
    raise AssertionError("no step of the run failed")
