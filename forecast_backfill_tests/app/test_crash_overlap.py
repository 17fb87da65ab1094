"""A crash of a campaign beside nightly costs one partition; no row of nightly is half gone."""

import signal
from datetime import timedelta

import pytest

from forecast_backfill.core.partition import DateRange, partitions_of
from forecast_backfill.core.states import Workload
from forecast_backfill.core.version import Winner
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
BEFORE, AFTER = (4, 20), (6, 30)
"""Units and authority of every row: nightly's, and those of the correction."""


@pytest.fixture
def settings(database_url, tmp_path):
    settings = settings_for(database_url, tmp_path, seam=FIRST)
    land_campaign(tmp_path, PARTITIONS)
    run_campaign(settings, PARTITIONS, workload=Workload.NIGHTLY)
    land_campaign(tmp_path, PARTITIONS, quantity="3")
    return settings


def found(url):
    """Units and authority by partition."""
    rows = {}
    for row in stored_rows(url):
        rows.setdefault(row[:2], set()).add((row[5], row[12]))
    return [rows[each.date, each.region] for each in PARTITIONS]


@pytest.mark.parametrize("step", list(Step))
def test_a_campaign_killed_at_a_step_loses_that_partition_only(step, settings, database_url):
    process = start_campaign(
        settings,
        PARTITIONS,
        KillAt(step=step, partition=PARTITIONS[2]),
        winner=Winner.CORRECTION,
    )
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    corrected = 3 if step is Step.COMMITTED else 2
    assert found(database_url) == [{AFTER}] * corrected + [{BEFORE}] * (4 - corrected)
    assert {row[2:] for row in ledger_rows(database_url)} == {("done", "current", 2)}

    run_campaign(settings, PARTITIONS, winner=Winner.CORRECTION)
    assert found(database_url) == [{AFTER}] * 4
    again = run_campaign(settings, PARTITIONS, winner=Winner.CORRECTION)
    assert {type(each).__name__ for each in again} == {"Unchanged"}
