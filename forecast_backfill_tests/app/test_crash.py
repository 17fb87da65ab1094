"""A crash costs one partition: a rerun leaves exactly what an undisturbed run leaves."""

import random
import signal
import time
from datetime import timedelta

import psycopg
import pytest

from forecast_backfill.core.partition import DateRange, Partition, partitions_of
from forecast_backfill.ports import Step
from forecast_backfill_tests.app.campaigns import (
    FIRST,
    PROCESSES,
    KillAt,
    land_campaign,
    ledger_rows,
    run_campaign,
    run_campaign_for_ever,
    settings_for,
    start_campaign,
    stored_rows,
)

PARTITIONS = list(
    partitions_of(DateRange(start=FIRST, end=FIRST + timedelta(days=4)), ["R01", "R02"])
)
ROWS_A_PARTITION = 2
RANDOM_KILLS = 50


def expected_rows():
    """What the hand-made lines come to, written out: (store, product) rows of each partition."""
    rows = []
    for partition in PARTITIONS:
        store = {"R01": "s1", "R02": "s2"}[partition.region]
        for product, group in (("0042", "SOUP"), ("NA", "DELI")):
            # Two lines of two pieces at 3.98 with 0.50 off: 4 pieces, 7.96, list price 2.24.
            rows.append((partition.date, partition.region, store, product, group, 4, 796, 100))
    return rows


def assert_as_undisturbed(url):
    assert [row[:8] for row in stored_rows(url)] == expected_rows()
    assert ledger_rows(url) == [
        (each.date, each.region, "done", "current", ROWS_A_PARTITION) for each in PARTITIONS
    ]
    with psycopg.connect(url) as connection:
        slots = connection.execute(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        ).fetchone()
    assert slots == (0,)


@pytest.fixture
def settings(database_url, tmp_path):
    land_campaign(tmp_path, PARTITIONS)
    return settings_for(database_url, tmp_path)


@pytest.mark.parametrize("step", list(Step))
def test_a_process_killed_at_a_step_loses_that_partition_only(step, settings, database_url):
    victim = PARTITIONS[3]
    process = start_campaign(settings, PARTITIONS, KillAt(step=step, partition=victim))
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    done = [row[:2] for row in ledger_rows(database_url) if row[2] == "done"]
    survivors = PARTITIONS[:4] if step is Step.COMMITTED else PARTITIONS[:3]
    assert done == [(each.date, each.region) for each in survivors]
    assert len(stored_rows(database_url)) == ROWS_A_PARTITION * len(survivors)

    run_campaign(settings, PARTITIONS)
    assert_as_undisturbed(database_url)


def test_fifty_random_kills_and_a_rerun_leave_the_undisturbed_rows(settings, database_url):
    dice = random.Random(20261129)
    # The first process also starts the fork server: only the second tells how long a pass takes.
    start_campaign(settings, PARTITIONS).join(60)
    started = time.monotonic()
    start_campaign(settings, PARTITIONS).join(60)
    undisturbed = time.monotonic() - started
    for _ in range(RANDOM_KILLS):
        changed = Partition(date=FIRST, region="R01")
        land_campaign(settings.home, [changed], quantity=str(dice.randint(1, 9)))
        process = PROCESSES.Process(target=run_campaign_for_ever, args=(settings, PARTITIONS))
        process.start()
        time.sleep(dice.uniform(0, 1.5 * undisturbed))
        process.kill()
        process.join(60)
        assert process.exitcode == -signal.SIGKILL
        assert len(stored_rows(database_url)) == ROWS_A_PARTITION * len(PARTITIONS)

    land_campaign(settings.home, PARTITIONS)
    run_campaign(settings, PARTITIONS)
    assert_as_undisturbed(database_url)


def test_a_rerun_of_a_finished_campaign_changes_no_byte(settings, database_url):
    run_campaign(settings, PARTITIONS)
    before = stored_rows(database_url)
    outcomes = run_campaign(settings, PARTITIONS)
    assert {type(each).__name__ for each in outcomes} == {"Unchanged"}
    assert stored_rows(database_url) == before
