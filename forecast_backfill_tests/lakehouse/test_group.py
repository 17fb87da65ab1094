"""A batch in a lakehouse is one commit; what a group loses costs its own partitions a try."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest

from forecast_backfill.app.run_grouped import run_grouped
from forecast_backfill.core.errors import EpochRaised
from forecast_backfill.core.partition import DateRange, partitions_of
from forecast_backfill.core.states import Workload
from forecast_backfill.core.version import Winner
from forecast_backfill.ports import Step
from forecast_backfill.warehouse_delta.delta_log import DeltaLog
from forecast_backfill.wiring.batch import run_batch_of, run_here, ship
from forecast_backfill.wiring.partition import open_wiring
from forecast_backfill_tests.app.campaigns import (
    FIRST,
    good_lines,
    land_campaign,
    ledger_rows,
    run_campaign,
    settings_for,
)
from forecast_backfill_tests.app.overlaps import Engine, Stage, World, Writer
from forecast_backfill_tests.lakehouse.deltas import commits, data_files, delta_rows, last_commit
from forecast_backfill_tests.landing.hand_made import land
from forecast_backfill_tests.postgres.rows import fetch

DATES = DateRange(start=FIRST, end=FIRST + timedelta(days=3))
PARTITIONS = list(partitions_of(DATES, ["R01", "R02"]))
DONE = ("done", "current", 2)


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture
def settings(database_url, tmp_path):
    land_campaign(tmp_path, PARTITIONS)
    return settings_for(database_url, tmp_path, warehouse="delta")


@pytest.fixture
def wiring(settings):
    with open_wiring(settings, workload=Workload.BACKFILL, run_id="5f0c") as opened:
        yield opened


def run(wiring, at=lambda step, partition: None, **changes):
    """The batch in one group; the outcomes by name, in the order in which they were told."""
    told = []
    ports = replace(wiring.ports, checkpoint=at, **changes)
    outcomes = run_grouped(PARTITIONS, wiring.request(campaign_id="c"), ports, told.append)
    assert told == outcomes
    return [type(each).__name__ for each in outcomes]


def states(url):
    return [row[2:] for row in ledger_rows(url)]


def test_a_batch_is_one_commit_with_a_fingerprint_of_each_partition(wiring, settings, database_url):
    assert run_batch_of(settings) is run_grouped
    assert run(wiring) == ["Written"] * 6
    assert commits(settings) == 1
    stamps = json.loads(last_commit(settings)["forecast_backfill.fingerprints"])
    assert [(each["date"], each["region"], each["rows"]) for each in stamps] == [
        (str(each.date), each.region, "2") for each in PARTITIONS
    ]
    assert states(database_url) == [DONE] * 6
    assert run(wiring) == ["Unchanged"] * 6


def test_a_bad_file_quarantines_its_own_partition_only(wiring, settings, database_url):
    bad = good_lines(PARTITIONS[2])
    bad[0] = bad[0] | {"quantity": "two"}
    land(settings.landing_directory, PARTITIONS[2], bad)
    assert sorted(run(wiring)) == ["Quarantined", *["Written"] * 5]
    assert states(database_url)[2] == ("quarantined", "absent", None)
    assert len(delta_rows(settings)) == 10


def test_a_crash_before_the_commit_leaves_nothing_and_the_next_run_does_it_all(
    wiring, settings, database_url, monkeypatch
):
    def die(self, changes, told):
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(DeltaLog, "_commit", die)
        with pytest.raises(Killed):
            run(wiring)
    assert delta_rows(settings) == []
    assert states(database_url) == [("failed", "absent", None)] * 6
    assert run(wiring) == ["Written"] * 6
    assert states(database_url) == [DONE] * 6


def test_a_crash_between_table_and_ledger_is_adopted_by_the_next_run(
    wiring, settings, database_url, monkeypatch
):
    publish = DeltaLog.publish

    def die(self, changes, told):
        publish(self, changes, told)
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(DeltaLog, "publish", die)
        with pytest.raises(Killed):
            run(wiring)
    assert states(database_url) == [("failed", "absent", None)] * 6
    found = delta_rows(settings), data_files(settings)
    assert len(found[0]) == 12
    assert run(wiring) == ["Written"] * 6
    assert states(database_url) == [DONE] * 6
    assert (delta_rows(settings), data_files(settings)) == found
    assert commits(settings) == 1


def test_a_session_lost_after_the_table_commit_is_made_good_in_the_same_run(
    wiring, settings, database_url, monkeypatch
):
    publish, lost = DeltaLog.publish, []

    def lose(self, changes, told):
        publish(self, changes, told)
        if not lost:
            lost.append(1)
            with psycopg.connect(database_url, autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )

    monkeypatch.setattr(DeltaLog, "publish", lose)
    assert run(wiring) == ["Written"] * 6
    assert states(database_url) == [DONE] * 6
    assert commits(settings) == 1
    assert len(data_files(settings)) == 6


def test_a_kill_refuses_the_whole_group(wiring, settings, database_url):
    def kill(step, partition):
        if (step, partition) == (Step.COMMITTED, PARTITIONS[-1]):
            with psycopg.connect(database_url) as connection:
                connection.execute(
                    "UPDATE forecast_backfill.workload_control SET epoch = epoch + 1"
                )

    with pytest.raises(EpochRaised):
        run(wiring, at=kill)
    assert delta_rows(settings) == []
    assert states(database_url) == [("failed", "absent", None)] * 6


def test_a_partition_that_somebody_else_replaced_meanwhile_is_tried_alone(
    wiring, settings, database_url
):
    def meddle(step, partition):
        if (step, partition) == (Step.COMMITTED, PARTITIONS[-1]):
            run_campaign(settings, PARTITIONS[:1])

    assert sorted(run(wiring, at=meddle)) == ["Unchanged", *["Written"] * 5]
    assert len(delta_rows(settings)) == 12
    assert states(database_url) == [DONE] * 6


def test_who_waits_commits_first_what_is_ready(wiring, settings):
    committed, refused = [], []

    class Busy:
        """No slot is free for a moment before the fourth partition."""

        def try_acquire(self, limit, weight=1):
            if len(committed) == 3 and not refused:
                refused.append(limit)
                return None
            return wiring.ports.slots.try_acquire(limit, weight)

    def count(step, partition):
        if step is Step.COMMITTED:
            committed.append(partition)

    assert run(wiring, at=count, slots=Busy()) == ["Written"] * 6
    assert len(refused) == 1
    assert commits(settings) == 2


def test_an_executor_commits_its_share_together(settings, wiring, database_url):
    shipment = ship(settings, wiring.request(campaign_id="c"))
    names = [type(each).__name__ for each in run_here(shipment, PARTITIONS)]
    assert names == ["Written"] * 6
    assert commits(settings) == 1
    assert states(database_url) == [DONE] * 6


def test_statements_of_an_overlap_count_until_the_move_is_recorded(
    database_url, tmp_path, monkeypatch
):
    world = World(partition=PARTITIONS[0])
    world.deliver({("s1", "1"): 1})
    postgres = settings_for(database_url, tmp_path, seam=FIRST)
    correction = Writer(engine=Engine(), winner=Winner.CORRECTION, number=1)
    with ExitStack() as opened:
        stage = Stage(postgres, opened)
        stage.run(world, Writer(engine=Engine()))
        stage.run(world, correction)

    def claims():
        return fetch(database_url, "SELECT count(*) FROM partition_claim")[0][0]

    assert claims() > 0
    land_campaign(tmp_path, PARTITIONS)
    delta = settings_for(database_url, tmp_path, warehouse="delta")

    def move():
        with open_wiring(delta, workload=Workload.BACKFILL, run_id="5f0c") as wiring:
            return run(wiring)

    def die(self, changes, told):
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(DeltaLog, "publish", die)
        with pytest.raises(Killed):
            move()
    assert claims() > 0
    assert move() == ["Written"] * 6
    assert claims() == 0
    assert fetch(database_url, "SELECT count(*) FROM daily_demand") == [(0,)]
