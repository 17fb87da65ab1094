"""The database goes away, or the run is told to stop: what the ledger, the batch and rows say."""

import time
from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest

from forecast_backfill.app.run_partition import run_batch
from forecast_backfill.core.errors import DatabaseInterrupted
from forecast_backfill.core.partition import DateRange, partitions_of
from forecast_backfill.core.states import Workload
from forecast_backfill.ports import Step
from forecast_backfill.warehouse.ledger import PostgresLedger
from forecast_backfill.wiring import partition as wiring_module
from forecast_backfill.wiring.partition import open_wiring, retry_interrupted
from forecast_backfill_tests.app.campaigns import (
    FIRST,
    land_campaign,
    ledger_rows,
    settings_for,
    stored_rows,
)

PARTITIONS = list(
    partitions_of(DateRange(start=FIRST, end=FIRST + timedelta(days=2)), ["R01", "R02"])
)
DONE = ("done", "current", 2)


class ToldToStop(BaseException):
    """What Dagster raises inside a run that is cancelled: no Exception either."""


@pytest.fixture
def settings(database_url, tmp_path):
    land_campaign(tmp_path, PARTITIONS)
    return settings_for(database_url, tmp_path)


def lose_connection(url):
    """End every other connection to the database, as its restart does."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def run(wiring, tell=lambda outcome: None, **changes):
    request = wiring.request(campaign_id="spring")
    outcomes = run_batch(PARTITIONS, request, replace(wiring.ports, **changes), tell)
    return [type(each).__name__ for each in outcomes]


@pytest.mark.parametrize("step", list(Step))
def test_a_connection_lost_at_any_step_costs_no_partition(step, settings, database_url):
    lost = []

    def lose_once(at, partition):
        if at is step and not lost:
            lost.append(partition)
            lose_connection(database_url)

    with open_wiring(
        settings, workload=Workload.BACKFILL, run_id="5f0c", checkpoint=lose_once
    ) as wiring:
        names = run(wiring)
    assert lost == [PARTITIONS[0]]
    assert names[1:] == ["Written"] * 3
    assert names[0] in ("Written", "Unchanged")
    assert [row[2:] for row in ledger_rows(database_url)] == [DONE] * 4
    assert len(stored_rows(database_url)) == 8


def test_an_interruption_after_a_long_wait_is_still_tried_again(
    settings, database_url, monkeypatch
):
    """On call pauses, restarts the database, and resumes: the wait is no part of the patience."""
    monkeypatch.setattr(wiring_module, "RETRY_SECONDS", 0.3)
    tried = []

    def attempt():
        tried.append(1)
        if len(tried) == 1:
            time.sleep(0.5)
            raise DatabaseInterrupted("restart", why="test", next_command="none")
        return "written"

    assert retry_interrupted(attempt) == "written"
    assert len(tried) == 2


def test_an_interruption_that_goes_on_is_given_up(monkeypatch):
    monkeypatch.setattr(wiring_module, "RETRY_SECONDS", 0.3)
    tried = []

    def attempt():
        tried.append(1)
        raise DatabaseInterrupted("gone", why="test", next_command="none")

    with pytest.raises(DatabaseInterrupted):
        retry_interrupted(attempt)
    assert len(tried) >= 2


def test_a_failure_that_cannot_be_recorded_at_once_does_not_cost_the_others(settings, database_url):
    class Fragile:
        code_version = "1"

        def prepare(self, source, dimensions):
            if source.partition == PARTITIONS[0]:
                raise ZeroDivisionError("a bug")
            return wiring.ports.engine.prepare(source, dimensions)

    class LosesTheConnectionFirst(PostgresLedger):
        is_lost = False

        def fail(self, partition, request, *, reason):
            if not self.is_lost:
                self.is_lost = True
                lose_connection(database_url)
            super().fail(partition, request, reason=reason)

    with open_wiring(settings, workload=Workload.BACKFILL, run_id="5f0c") as wiring:
        names = run(wiring, engine=Fragile(), ledger=LosesTheConnectionFirst(wiring.session))
    assert names == ["Failed", "Written", "Written", "Written"]
    assert ledger_rows(database_url)[0][2:] == ("failed", "absent", None)


@pytest.mark.parametrize("step", [Step.STARTED, Step.LEASED, Step.RECORDED])
def test_a_run_that_is_told_to_stop_leaves_no_partition_running(step, settings, database_url):
    def stop(at, partition):
        if (at, partition) == (step, PARTITIONS[1]):
            raise ToldToStop

    with (
        open_wiring(settings, workload=Workload.BACKFILL, run_id="5f0c", checkpoint=stop) as wiring,
        pytest.raises(ToldToStop),
    ):
        run(wiring)
    found = ledger_rows(database_url)
    assert [row[2:] for row in found] == [DONE, ("failed", "absent", None)]
    assert len(stored_rows(database_url)) == 2
