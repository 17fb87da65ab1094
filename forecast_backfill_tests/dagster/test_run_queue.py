"""How the queue treats a run: its tags, the limits of a tick, and what dagster.yaml may say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import yaml
from dagster import DagsterRun
from dagster._core.execution.backfill import BulkActionStatus
from dagster._core.run_coordinator import QueuedRunCoordinator, SubmitRunContext
from dagster._core.storage.tags import TagType, get_tag_type

from forecast_backfill.app.operate import InForce
from forecast_backfill.core.admission import WaitCause
from forecast_backfill.core.errors import SettingRefused
from forecast_backfill.dagster_defs.run_queue import (
    WorkloadRunCoordinator,
    check_limits,
    limits_told,
    limits_with,
    missing_tags,
)
from forecast_backfill.dagster_defs.tags import MACHINE_TAG
from forecast_backfill_tests.dagster.conftest import CHECKOUT

LIMITS = [
    {"key": "forecast_backfill/workload", "value": "nightly", "limit": 4},
    {"key": "forecast_backfill/workload", "value": "backfill", "limit": 3},
    {"key": "team", "limit": 7},
]


def test_a_run_that_says_nothing_counts_as_backfill_and_yields() -> None:
    assert missing_tags({}) == {
        "forecast_backfill/workload": "backfill",
        "dagster/priority": "-10",
    }


def test_a_nightly_run_goes_first() -> None:
    assert missing_tags({"forecast_backfill/workload": "nightly"}) == {"dagster/priority": "10"}


def test_a_priority_that_was_asked_for_is_left_alone() -> None:
    tags = {"forecast_backfill/workload": "backfill", "dagster/priority": "3"}
    assert missing_tags(tags) == {}


@pytest.mark.parametrize(("slots", "limit"), [(0, 0), (2, 2), (3, 3), (9, 3)])
def test_only_the_limit_of_backfill_is_lowered_and_never_raised(slots: int, limit: int) -> None:
    found = [each["limit"] for each in limits_with(LIMITS, slots=slots)]
    assert found == [4, limit, 7]


def test_the_ui_is_told_why_backfill_has_less_than_the_file_lets_it_have() -> None:
    found = InForce(slots=0, cause=WaitCause.CAP, reason="the cap is 0: incident (ana)")
    told = [each["limit"] for each in limits_told(LIMITS, found)]
    assert told == [4, "0 of 3 now: the cap is 0: incident (ana)", 7]


def test_the_ui_shows_the_files_limit_where_backfill_has_all_of_it() -> None:
    found = InForce(slots=5, cause=None, reason="8 slots less 3 for nightly")
    assert limits_told(LIMITS, found) == LIMITS


def test_only_the_webserver_is_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORECAST_BACKFILL_DATABASE_URL", "postgresql://127.0.0.1:1/none")
    monkeypatch.setitem(sys.modules, "dagster_webserver", ModuleType("dagster_webserver"))
    config = yaml.safe_load((CHECKOUT / "dagster.yaml").read_text())["run_coordinator"]["config"]
    coordinator = WorkloadRunCoordinator.from_config_value(None, config)  # type: ignore[arg-type]
    nightly, backfill = coordinator.get_run_queue_config().tag_concurrency_limits
    assert nightly["limit"] == 4
    assert backfill["limit"].startswith("0 of 4 now: ")


def test_the_ui_does_not_show_on_which_machine_a_run_is() -> None:
    assert get_tag_type(MACHINE_TAG) is TagType.HIDDEN


def test_nightlys_share_has_to_be_there_beside_all_of_backfill() -> None:
    check_limits(7, LIMITS, slots=8)
    check_limits(-1, LIMITS, slots=8)
    check_limits(6, LIMITS, slots=2)
    with pytest.raises(
        SettingRefused, match="max_concurrent_runs 6 is less than nightly's 4"
    ) as no:
        check_limits(6, LIMITS, slots=8)
    assert no.value.next_command == "set max_concurrent_runs to 7 in dagster.yaml"


@pytest.mark.parametrize(("gone", "name"), [(0, "nightly"), (1, "backfill")])
def test_a_workload_without_a_limit_is_refused(gone: int, name: str) -> None:
    limits = [each for number, each in enumerate(LIMITS) if number != gone]
    with pytest.raises(SettingRefused, match=f"has no limit for {name}"):
        check_limits(10, limits, slots=4)


def test_the_checkouts_own_file_is_accepted_and_a_worker_gets_its_limits_without_a_query(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FORECAST_BACKFILL_DATABASE_URL", "postgresql://127.0.0.1:1/none")
    config = yaml.safe_load((CHECKOUT / "dagster.yaml").read_text())["run_coordinator"]["config"]
    coordinator = WorkloadRunCoordinator.from_config_value(None, config)  # type: ignore[arg-type]
    limits = coordinator.get_run_queue_config().tag_concurrency_limits
    assert [each["limit"] for each in limits] == [4, 4]


def test_the_daemon_gets_the_cap_of_the_knobs(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORECAST_BACKFILL_DATABASE_URL", database)
    coordinator = WorkloadRunCoordinator(
        max_concurrent_runs=8, tag_concurrency_limits=LIMITS, dequeue_interval_seconds=1
    )
    assert coordinator.dequeue_interval_seconds == 1
    limits = coordinator.get_run_queue_config().tag_concurrency_limits
    coordinator.dispose()
    assert [each["limit"] for each in limits] == [4, 2, 7]


def test_a_file_that_keeps_backfill_below_its_cap_is_told_once(
    database: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("FORECAST_BACKFILL_DATABASE_URL", database)
    monkeypatch.setenv("FORECAST_BACKFILL_SLOTS", "8")
    coordinator = WorkloadRunCoordinator(
        max_concurrent_runs=8, tag_concurrency_limits=LIMITS, dequeue_interval_seconds=1
    )
    monkeypatch.setattr(coordinator._logger, "propagate", True)
    assert coordinator.dequeue_interval_seconds == 1
    coordinator.get_run_queue_config()
    coordinator.get_run_queue_config()
    coordinator.dispose()
    told = [each.getMessage() for each in caplog.records if "dagster.yaml" in each.getMessage()]
    assert [each.partition(";")[0] for each in told] == [
        "backfill may hold 6 slots, but dagster.yaml lets it have 3 runs at once"
    ]


def test_the_queue_loads_neither_pandas_nor_arrow_nor_spark() -> None:
    """It lives in Dagster's daemon, and a launch of the daemon should not pay for them."""
    code = (
        "import sys, forecast_backfill.dagster_defs.run_queue, "
        "forecast_backfill.dagster_defs.run_launcher, forecast_backfill.dagster_defs.storage; "
        "print(sorted({'pandas', 'pyarrow', 'pyspark', 'lightgbm'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(CHECKOUT)
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("backfill", "cancelled"),
    [
        (BulkActionStatus.REQUESTED, []),
        (BulkActionStatus.CANCELING, ["r1"]),
        (BulkActionStatus.CANCELED, ["r1"]),
    ],
)
def test_a_run_that_comes_after_its_backfill_was_cancelled_is_cancelled_in_the_queue(
    backfill: BulkActionStatus, cancelled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    tagged: dict[str, str] = {}
    monkeypatch.setattr(QueuedRunCoordinator, "submit_run", lambda self, context: None)
    monkeypatch.setattr(
        QueuedRunCoordinator, "cancel_run", lambda self, run_id: done.append(run_id)
    )
    coordinator = WorkloadRunCoordinator()
    instance = SimpleNamespace(
        add_run_tags=lambda run_id, tags: tagged.update(tags),
        get_backfill=lambda backfill_id: SimpleNamespace(status=backfill),
    )
    monkeypatch.setattr(WorkloadRunCoordinator, "_instance", instance, raising=False)
    run = DagsterRun(job_name="assets", run_id="r1", tags={"dagster/backfill": "b1"})
    coordinator.submit_run(SubmitRunContext(run, workspace=None))  # type: ignore[arg-type]
    assert done == cancelled
    assert tagged["forecast_backfill/workload"] == "backfill"
