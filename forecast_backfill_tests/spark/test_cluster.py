"""A batch on a real standalone cluster: master and worker from the pip package."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path

import psutil
import psycopg
import pytest

from forecast_backfill.core.errors import EpochRaised
from forecast_backfill.core.outcome import Quarantined, Unchanged, Written
from forecast_backfill.core.states import Workload
from forecast_backfill.engines.spark_session import open_spark
from forecast_backfill.settings import load_settings
from forecast_backfill.warehouse.kill import kill
from forecast_backfill.wiring.batch import OpenSpark
from forecast_backfill.wiring.partition import open_session
from forecast_backfill_tests.app.campaigns import run_campaign, settings_for, stored_rows
from forecast_backfill_tests.landing.hand_made import land
from forecast_backfill_tests.spark.batches import (
    LARGE,
    PARTITIONS,
    Background,
    landed,
    landed_large,
    lease_held,
    run,
    slots_held,
    statuses,
    written,
)
from forecast_backfill_tests.spark.servers import Cluster, wait_until


@pytest.fixture(scope="module")
def application(cluster: Cluster) -> Iterator[OpenSpark]:
    """One Spark application for all tests: its driver and its executors take seconds to start."""
    settings = load_settings(engine="spark", spark_master=cluster.master)
    with open_spark(settings, Workload.BACKFILL) as session:
        yield lambda: nullcontext(session)


def test_a_bad_file_costs_its_own_partition_and_what_is_done_is_not_done_again(
    cluster: Cluster, application: OpenSpark, database: str, tmp_path: Path
) -> None:
    settings = landed(database, tmp_path, cluster.master)
    bad = PARTITIONS[4]
    land(tmp_path / "landing", bad, [{"store_id": "s1", "sales_value": '"2,50"'}])

    first = run(settings, open_spark=application)
    assert [type(each) for each in first] == [
        Quarantined if each == bad else Written for each in PARTITIONS
    ]
    (report,) = [each.report for each in first if isinstance(each, Quarantined)]
    assert str(report.kept[0]).startswith("sales.csv.gz:2 sales_value '2,50' decimal_comma: ")
    rows = stored_rows(database)

    # The engine is no part of what an output is known by: pandas finds it as done.
    again = run_campaign(settings_for(database, tmp_path), PARTITIONS)
    assert sum(isinstance(each, Unchanged) for each in again) == 9
    assert stored_rows(database) == rows


def test_an_executor_killed_at_work_loses_nothing_and_doubles_nothing(
    cluster: Cluster, application: OpenSpark, database: str, tmp_path: Path
) -> None:
    settings = landed(database, tmp_path, cluster.master)
    held = PARTITIONS[7]
    with lease_held(database, held):
        batch = Background(settings, application)
        batch.wait_until_running(held)
        wait_until(lambda: waiting_for_a_lease(database), "nobody waits for the lease")
        waiting = waiting_for_a_lease(database)
        kill_executors(cluster)
        wait_until(lambda: not waiting & waiting_for_a_lease(database), "a dead task waits", 30)
    batch.thread.join(120)

    assert batch.error is None
    assert {each.partition for each in batch.outcomes} == set(PARTITIONS)
    assert written(database) == dict.fromkeys(PARTITIONS, 1)
    assert len(stored_rows(database)) == 2 * len(PARTITIONS)
    assert slots_held(database) == 0


def test_an_executor_lost_with_the_rows_of_a_spread_delivery_has_them_made_again(
    cluster: Cluster, application: OpenSpark, database: str, tmp_path: Path
) -> None:
    settings = landed_large(database, tmp_path, cluster.master)
    with lease_held(database, LARGE):
        batch = Background(settings, application, [LARGE])
        wait_until(lambda: waiting_for_a_lease(database), "its rows were never made")
        kill_executors(cluster)
    batch.thread.join(120)

    assert batch.error is None
    assert [type(each) for each in batch.outcomes] == [Written]
    assert written(database) == {LARGE: 1}
    assert [row[:7] for row in stored_rows(database)] == [
        (LARGE.date, "R01", "s1", "0042", "SOUP", 8, 1592),
        (LARGE.date, "R01", "s1", "NA", "DELI", 8, 1592),
    ]
    assert slots_held(database) == 0


def test_a_kill_ends_the_running_job_and_nothing_commits_after_it(
    cluster: Cluster, application: OpenSpark, database: str, tmp_path: Path
) -> None:
    settings = landed(database, tmp_path, cluster.master)
    held = PARTITIONS[7]
    with lease_held(database, held):
        batch = Background(settings, application)
        batch.wait_until_running(held)
        with open_session(settings, Workload.BACKFILL) as session:
            kill(session, Workload.BACKFILL, reason="a test", changed_by="pytest")
        done = written(database)
        batch.thread.join(60)
        assert not batch.thread.is_alive()
    assert isinstance(batch.error, EpochRaised)
    assert written(database) == done
    assert held not in done
    assert statuses(database)[held] == "failed"
    wait_until(lambda: slots_held(database) == 0, "a slot is held", 30)


def waiting_for_a_lease(url: str) -> set[int]:
    """The database sessions that wait for an advisory lock."""
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "SELECT pid FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event = 'advisory'"
        ).fetchall()
    return {pid for (pid,) in found}


def kill_executors(cluster: Cluster) -> None:
    """SIGKILL for the JVM of every executor of the worker."""
    executors = []
    for child in psutil.Process(cluster.worker.pid).children(recursive=True):
        with suppress(psutil.Error):
            if "CoarseGrainedExecutor" in " ".join(child.cmdline()):
                executors.append(child)
    if not executors:
        pytest.fail("no executor runs")
    for executor in executors:
        os.kill(executor.pid, signal.SIGKILL)
