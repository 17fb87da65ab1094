"""A log or folder that is lost, another, or full: nothing is begun there, a way out is named."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import timedelta

import pytest

from forecast_backfill.app.reconcile import Differs, Proved
from forecast_backfill.app.run_grouped import run_grouped
from forecast_backfill.core.errors import WarehouseRefused
from forecast_backfill.core.outcome import Failed, Written
from forecast_backfill.core.partition import DateRange, partitions_of
from forecast_backfill.core.states import Workload
from forecast_backfill.ports import Step
from forecast_backfill.warehouse_delta.delta_log import DeltaLog
from forecast_backfill.wiring.lakehouse import demand_of, plan_facts_of
from forecast_backfill.wiring.partition import open_wiring
from forecast_backfill_tests.app.campaigns import (
    FIRST,
    land_campaign,
    ledger_rows,
    run_campaign,
)
from forecast_backfill_tests.lakehouse.deltas import commits, data_files, delta_rows
from forecast_backfill_tests.lakehouse.spoilt import (
    DATES,
    PARTITIONS,
    read_window,
    table_folder,
    verdicts,
    write_anew,
)


def test_a_commit_whose_end_fails_counts_as_made(settings, monkeypatch):
    commit = DeltaLog._commit

    def fail_after(self, changes, told):
        commit(self, changes, told)
        raise OSError(28, "No space left on device: checkpoint")

    monkeypatch.setattr(DeltaLog, "_commit", fail_after)
    assert [type(each) for each in run_campaign(settings, PARTITIONS)] == [Written] * 4
    assert commits(settings) == 4
    assert len(delta_rows(settings)) == 8


def test_a_log_that_cannot_be_written_fails_each_partition_with_the_folder(
    settings, database_url, monkeypatch
):
    def fail(self, changes, told):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(DeltaLog, "_commit", fail)
    with open_wiring(settings, workload=Workload.BACKFILL, run_id="5f0c") as opened:
        outcomes = run_grouped(PARTITIONS, opened.request(), opened.ports, lambda outcome: None)
    assert [type(each) for each in outcomes] == [Failed] * 4
    assert "the Delta table was not written [2026-11-02 R01]" in outcomes[0].reason
    assert "lakehouse/daily_demand: [Errno 28] No space left on device" in outcomes[0].reason
    assert [row[2] for row in ledger_rows(database_url)] == ["failed"] * 4


def test_a_folder_that_cannot_be_written_fails_its_partitions_only(settings):
    table_folder(settings).mkdir(parents=True)
    (table_folder(settings) / f"date={FIRST}").write_text("in the way")
    outcomes = run_campaign(settings, PARTITIONS)
    assert [type(each) for each in outcomes] == [Failed, Failed, Written, Written]
    assert "a file of the lakehouse was not written [2026-11-02 R01]" in outcomes[0].reason
    assert "nightly --date 2026-11-02, again" in outcomes[0].reason


def test_a_log_that_is_partly_gone_is_told_with_its_folder(wiring, settings):
    (table_folder(settings) / "_delta_log" / f"{2:020}.json").unlink()
    with pytest.raises(WarehouseRefused, match="the Delta table cannot be read") as refused:
        read_window(wiring)
    assert str(table_folder(settings)) in refused.value.why
    assert "reconcile --repair" in refused.value.next_command


def test_looking_at_a_folder_makes_no_table_there(wiring, settings, tmp_path):
    elsewhere = settings.model_copy(update={"lakehouse": tmp_path / "not mounted"})
    with pytest.raises(WarehouseRefused, match="holds no Delta table"):
        demand_of(elsewhere, wiring.session, None).read(DATES)
    assert plan_facts_of(elsewhere, wiring.session).partition_bytes() == 0
    assert not (tmp_path / "not mounted").exists()


def test_nothing_is_written_to_another_folder_than_the_ledgers(wiring, settings, tmp_path):
    next_day = list(
        partitions_of(DateRange(start=DATES.end, end=DATES.end + timedelta(1)), ["R01"])
    )
    land_campaign(tmp_path, next_day)
    wrong = settings.model_copy(update={"lakehouse": tmp_path / "wrong"})
    (outcome,) = run_campaign(wrong, next_day)
    assert isinstance(outcome, Failed)
    assert "wrong/daily_demand holds no file of it" in outcome.reason
    assert "export FORECAST_BACKFILL_LAKEHOUSE=" in outcome.reason
    assert not (tmp_path / "wrong").exists()
    (outcome,) = run_campaign(settings, next_day)
    assert isinstance(outcome, Written)


def test_a_table_that_was_deleted_is_written_anew_by_a_repair(wiring, settings):
    shutil.rmtree(settings.lakehouse_directory)
    assert verdicts(wiring) == [Differs] * 4
    write_anew(wiring)
    assert verdicts(wiring) == [Proved] * 4
    assert len(read_window(wiring)) == 4


def test_a_table_that_is_taken_away_under_a_run_is_not_begun_anew(wiring, settings, tmp_path):
    land_campaign(tmp_path, PARTITIONS, quantity="3")

    def take(step, partition):
        if (step, partition) == (Step.COMMITTED, PARTITIONS[-1]):
            settings.lakehouse_directory.rename(tmp_path / "away")

    ports = replace(wiring.ports, checkpoint=take)
    outcomes = run_grouped(PARTITIONS, wiring.request(), ports, lambda outcome: None)
    assert [type(each) for each in outcomes] == [Failed] * 4
    assert "holds no file of it" in outcomes[0].reason
    assert not settings.lakehouse_directory.exists()
    (tmp_path / "away").rename(settings.lakehouse_directory)
    assert [type(each) for each in run_campaign(settings, PARTITIONS)] == [Written] * 4
    assert [row[4] for row in delta_rows(settings)] == [6] * 8


def test_a_plan_does_not_stumble_over_a_file_that_is_gone(wiring, settings):
    files = data_files(settings)
    files[0].unlink()
    assert plan_facts_of(settings, wiring.session).partition_bytes() == files[1].stat().st_size
