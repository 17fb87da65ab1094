"""A process that is killed while it swaps a leaf leaves the old leaf, and the next run the new."""

import signal
from datetime import timedelta

import pytest

from forecast_backfill.core.partition import DateRange, partitions_of
from forecast_backfill.ports import Step
from forecast_backfill_tests.app.campaigns import (
    FIRST,
    KillAt,
    land_campaign,
    ledger_rows,
    run_campaign,
    settings_for,
    start_campaign,
    stored_rows,
)

PARTITIONS = list(
    partitions_of(DateRange(start=FIRST, end=FIRST + timedelta(days=2)), ["R01", "R02"])
)
BEFORE, AFTER = 4, 6
INSIDE = [Step.LEASED, Step.REPLACED, Step.FINGERPRINTED, Step.RECORDED, Step.COMMITTED]


@pytest.fixture
def settings(database_url, tmp_path):
    settings = settings_for(database_url, tmp_path, table_layout="leaves", large_rows=1)
    land_campaign(tmp_path, PARTITIONS)
    run_campaign(settings, PARTITIONS)
    land_campaign(tmp_path, PARTITIONS, quantity="3")
    return settings


def units_of_partitions(url):
    units = {}
    for row in stored_rows(url):
        units.setdefault(row[:2], set()).add(row[5])
    return [units[each.date, each.region] for each in PARTITIONS]


@pytest.mark.parametrize("step", INSIDE)
def test_a_process_killed_in_a_swap_loses_that_partition_only(step, settings, database_url):
    process = start_campaign(settings, PARTITIONS, KillAt(step=step, partition=PARTITIONS[2]))
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    swapped = 3 if step is Step.COMMITTED else 2
    assert units_of_partitions(database_url) == [{AFTER}] * swapped + [{BEFORE}] * (4 - swapped)

    run_campaign(settings, PARTITIONS)
    assert units_of_partitions(database_url) == [{AFTER}] * 4
    assert {row[2:] for row in ledger_rows(database_url)} == {("done", "current", 2)}
