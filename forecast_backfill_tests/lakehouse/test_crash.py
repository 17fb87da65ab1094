"""Processes that are killed, and writers that should not be there: one version, once."""

from __future__ import annotations

import signal
from datetime import timedelta
from uuid import uuid4

import pytest
from deltalake import DeltaTable

from forecast_backfill.core.errors import DatabaseInterrupted
from forecast_backfill.core.partition import DateRange, partitions_of
from forecast_backfill.core.version import Authority, Version
from forecast_backfill.ports import Step
from forecast_backfill.warehouse_delta.delta_log import Change, DeltaLog
from forecast_backfill.warehouse_delta.demand_file import Stamp, write_file
from forecast_backfill_tests.app.campaigns import (
    FIRST,
    KillAt,
    land_campaign,
    ledger_rows,
    run_campaign,
    settings_for,
    start_campaign,
)
from forecast_backfill_tests.lakehouse.deltas import commits, delta_rows
from forecast_backfill_tests.postgres.rows import fingerprint_of, table_of

DATES = DateRange(start=FIRST, end=FIRST + timedelta(days=2))
PARTITIONS = list(partitions_of(DATES, ["R01", "R02"]))
STEPS = [Step.LEASED, Step.REPLACED, Step.FINGERPRINTED, Step.RECORDED, Step.COMMITTED]


@pytest.fixture
def settings(database_url, tmp_path):
    land_campaign(tmp_path, PARTITIONS)
    return settings_for(database_url, tmp_path, warehouse="delta")


def expected_rows():
    """Two products a store: two lines of two pieces each."""
    stores = {"R01": "s1", "R02": "s2"}
    return [
        (each.date, each.region, stores[each.region], product, 4)
        for each in PARTITIONS
        for product in ("0042", "NA")
    ]


@pytest.mark.parametrize("step", STEPS)
def test_a_process_killed_at_a_step_costs_that_partition_only(step, settings, database_url):
    victim = PARTITIONS[2]
    process = start_campaign(settings, PARTITIONS, KillAt(step=step, partition=victim))
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    is_in_table = step in (Step.RECORDED, Step.COMMITTED)
    assert len(delta_rows(settings)) == 2 * (3 if is_in_table else 2)
    done = [row[2] for row in ledger_rows(database_url)].count("done")
    assert done == (3 if step is Step.COMMITTED else 2)

    run_campaign(settings, PARTITIONS)
    assert [row[:5] for row in delta_rows(settings)] == expected_rows()
    assert ledger_rows(database_url) == [
        (each.date, each.region, "done", "current", 2) for each in PARTITIONS
    ]
    assert commits(settings) == 4


def file_of(log, units):
    rows = table_of([{"store_id": "s1", "product_id": "1", "units": units}], PARTITIONS[0])
    stamp = Stamp(
        partition=PARTITIONS[0],
        fingerprint=fingerprint_of(rows),
        version=Version(authority=Authority.BACKFILL, source_version=units),
    )
    return write_file(log.directory, rows, stamp, uuid4().hex)


def change(partition, file):
    return Change(partition=partition, file=file, rows=1, seen=())


def test_of_two_that_create_a_partition_over_one_version_the_second_fails(tmp_path, monkeypatch):
    first, second = DeltaLog(tmp_path), DeltaLog(tmp_path)
    first.reload()
    second.reload()
    mine, other = file_of(first, 1), file_of(second, 2)
    first.publish([change(PARTITIONS[0], mine)], {})
    # As if it had looked just before the other's commit, each time.
    monkeypatch.setattr(second, "reload", lambda: None)
    with pytest.raises(DatabaseInterrupted, match="did not take the partition"):
        second.publish([change(PARTITIONS[0], other)], {})
    assert DeltaTable(str(first.directory)).file_uris() == [str(mine)]


def test_a_stale_writer_of_another_partition_looks_again_and_commits(tmp_path, monkeypatch):
    first, second = DeltaLog(tmp_path), DeltaLog(tmp_path)
    first.reload()
    second.reload()
    mine = file_of(first, 1)
    second.reload()
    first.publish([change(PARTITIONS[0], mine)], {})
    looks, reload = [], second.reload

    def late():
        looks.append(1)
        if len(looks) > 1:
            reload()

    monkeypatch.setattr(second, "reload", late)
    rows = table_of([{"store_id": "s2", "product_id": "1"}], PARTITIONS[1])
    stamp = Stamp(
        partition=PARTITIONS[1],
        fingerprint=fingerprint_of(rows),
        version=Version(authority=Authority.BACKFILL, source_version=1),
    )
    file = write_file(second.directory, rows, stamp, uuid4().hex)
    second.publish([change(PARTITIONS[1], file)], {})
    assert len(looks) == 2
    assert sorted(DeltaTable(str(first.directory)).file_uris()) == sorted([str(mine), str(file)])


def test_a_writer_whose_partition_was_replaced_meanwhile_commits_nothing(tmp_path):
    log = DeltaLog(tmp_path)
    log.reload()
    first, second = file_of(log, 1), file_of(log, 2)
    log.publish([change(PARTITIONS[0], first)], {})
    with pytest.raises(DatabaseInterrupted, match="another writer has replaced it"):
        log.publish([change(PARTITIONS[0], second)], {})
    assert DeltaTable(str(log.directory)).file_uris() == [str(first)]
