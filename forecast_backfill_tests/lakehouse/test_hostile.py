"""A lakehouse that others spoil: only what is vouched for is read, and a way out is named."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.transaction import AddAction, RemoveAction

from forecast_backfill.app.reconcile import Differs, Proved, reconcile
from forecast_backfill.app.run_grouped import run_grouped
from forecast_backfill.app.run_partition import run_batch
from forecast_backfill.core.errors import WarehouseRefused
from forecast_backfill.core.outcome import Failed, Written
from forecast_backfill.core.partition import DateRange, partitions_of
from forecast_backfill.core.states import Workload
from forecast_backfill.lakehouse_wiring import demand_of, plan_facts_of
from forecast_backfill.ports import Step
from forecast_backfill.truth_wiring import proof_ports
from forecast_backfill.warehouse_delta import demand_file
from forecast_backfill.warehouse_delta.delta_log import DeltaLog
from forecast_backfill.warehouse_delta.demand_file import TABLE_SCHEMA
from forecast_backfill.warehouse_delta.read_back import ReadBack
from forecast_backfill.wiring import open_wiring
from forecast_backfill_tests.app.campaigns import (
    FIRST,
    land_campaign,
    ledger_rows,
    run_campaign,
    settings_for,
)
from forecast_backfill_tests.lakehouse.deltas import commits, data_files, delta_rows, table_of

DATES = DateRange(start=FIRST, end=FIRST + timedelta(days=2))
PARTITIONS = list(partitions_of(DATES, ["R01", "R02"]))


@pytest.fixture(autouse=True)
def _quick_looks(monkeypatch):
    monkeypatch.setattr("forecast_backfill.warehouse_delta.demand.WAIT_SECONDS", 0.01)


@pytest.fixture
def settings(database_url, tmp_path):
    land_campaign(tmp_path, PARTITIONS)
    return settings_for(database_url, tmp_path, warehouse="delta")


@pytest.fixture
def wiring(settings):
    run_campaign(settings, PARTITIONS)
    with open_wiring(settings, workload=Workload.BACKFILL, run_id="5f0c") as opened:
        yield opened


def table_folder(settings):
    return settings.lakehouse_directory / "daily_demand"


def read_window(wiring):
    return demand_of(wiring.settings, wiring.session, None).read(DATES)


def write_anew(wiring, partitions=PARTITIONS):
    outcomes = run_batch(
        partitions, wiring.request(reprocess=True), wiring.ports, lambda told: None
    )
    assert [type(each) for each in outcomes] == [Written] * len(partitions)


def verdicts(wiring):
    return [
        type(each)
        for each in reconcile(PARTITIONS, ports=proof_ports(wiring), tell=lambda verdict: None)
    ]


def test_a_foreign_file_outside_of_the_folders_ends_windows_until_the_partition_is_rewritten(
    wiring, settings
):
    shutil.copy(data_files(settings)[0], table_folder(settings) / "part-0.parquet")
    foreign = AddAction(
        path="part-0.parquet",
        size=data_files(settings)[0].stat().st_size,
        partition_values={"date": str(FIRST), "region": "R01"},
        modification_time=1,
        data_change=True,
        stats="{}",
    )
    table_of(settings).create_write_transaction(
        [foreign], "append", TABLE_SCHEMA, ["date", "region"]
    )
    assert len(delta_rows(settings)) == 10
    with pytest.raises(WarehouseRefused, match=r"\[2026-11-02 R01\].*vouches for"):
        read_window(wiring)
    write_anew(wiring, PARTITIONS[:1])
    assert len(delta_rows(settings)) == 8
    assert len(read_window(wiring)) == 4


def test_a_copy_of_a_file_under_another_name_is_not_adopted(wiring, settings):
    mine = data_files(settings)[0]
    copied = mine.with_name("part-0.parquet")
    shutil.copy(mine, copied)
    values = {"date": str(FIRST), "region": "R01"}
    folder = f"date={FIRST}/region=R01"
    size = copied.stat().st_size
    removed = RemoveAction(
        path=f"{folder}/{mine.name}",
        data_change=False,
        deletion_timestamp=1,
        size=size,
        partition_values=values,
    )
    added = AddAction(
        path=f"{folder}/{copied.name}",
        size=size,
        partition_values=values,
        modification_time=1,
        data_change=False,
        stats="{}",
    )
    table_of(settings).create_write_transaction(
        [removed, added], "append", TABLE_SCHEMA, ["date", "region"]
    )
    with pytest.raises(WarehouseRefused, match="--reprocess --from 2026-11-02 --to 2026-11-03"):
        read_window(wiring)
    write_anew(wiring)
    assert len(read_window(wiring)) == 4
    assert len(delta_rows(settings)) == 8


@pytest.mark.parametrize("folder", ["", f"date={FIRST}/region=R01/"])
def test_a_foreign_file_that_no_proof_can_read_names_the_partition_to_rewrite(
    folder, wiring, settings
):
    foreign = table_folder(settings) / f"{folder}part-0.parquet"
    pq.write_table(pa.table({"strange": [1]}), foreign)
    added = AddAction(
        path=f"{folder}part-0.parquet",
        size=foreign.stat().st_size,
        partition_values={"date": str(FIRST), "region": "R01"},
        modification_time=1,
        data_change=True,
        stats="{}",
    )
    table_of(settings).create_write_transaction([added], "append", TABLE_SCHEMA, ["date", "region"])
    with pytest.raises(WarehouseRefused, match=r"\[2026-11-02 R01\].*none of ours") as refused:
        verdicts(wiring)
    assert "--reprocess --from 2026-11-02 --to 2026-11-03" in refused.value.next_command
    write_anew(wiring)
    assert verdicts(wiring) == [Proved] * 4


def test_rows_that_were_changed_in_their_place_are_not_read(wiring, settings):
    file = data_files(settings)[0]
    with pq.ParquetFile(file) as opened:
        rows = opened.read()
    place = rows.schema.get_field_index("units")
    pq.write_table(rows.set_column(place, "units", pa.array([9, 9], pa.int64())), file)
    with pytest.raises(WarehouseRefused, match=r"\[2026-11-02 R01\].*changed in its place"):
        read_window(wiring)
    assert verdicts(wiring) == [Differs, Proved, Proved, Proved]
    write_anew(wiring)
    assert len(read_window(wiring)) == 4


def test_a_file_that_is_broken_inside_is_a_difference_and_is_written_again(wiring, settings):
    file = data_files(settings)[0]
    content = bytearray(file.read_bytes())
    content[4:200] = bytes(196)
    file.write_bytes(content)
    with pytest.raises(WarehouseRefused, match=r"--repair --from 2026-11-02 --to 2026-11-03"):
        read_window(wiring)
    assert verdicts(wiring) == [Differs, Proved, Proved, Proved]
    write_anew(wiring)
    assert verdicts(wiring) == [Proved] * 4


def test_a_window_is_looked_at_again_where_vacuum_took_a_file_under_it(wiring, monkeypatch):
    read, failed = ReadBack.read, []

    def fail_once(self, query, files):
        if not failed:
            failed.append(query)
            raise WarehouseRefused("gone", why="vacuum", next_command="none")
        return read(self, query, files)

    monkeypatch.setattr(ReadBack, "read", fail_once)
    assert len(read_window(wiring)) == 4


def test_what_a_vacuum_took_before_the_commit_is_made_again(settings, database_url):
    def vacuum(step, partition):
        if (step, partition) == (Step.COMMITTED, PARTITIONS[-1]) and not vacuumed:
            vacuumed.extend(
                DeltaTable(str(table_folder(settings))).vacuum(
                    retention_hours=0,
                    dry_run=False,
                    enforce_retention_duration=False,
                    full=True,
                )
            )

    vacuumed: list[str] = []
    with open_wiring(settings, workload=Workload.BACKFILL, run_id="5f0c") as opened:
        ports = replace(opened.ports, checkpoint=vacuum)
        outcomes = run_grouped(PARTITIONS, opened.request(), ports, lambda outcome: None)
    assert len(vacuumed) == 4
    assert [type(each) for each in outcomes] == [Written] * 4
    assert len(delta_rows(settings)) == 8
    assert [row[2] for row in ledger_rows(database_url)] == ["done"] * 4


def test_a_file_that_a_vacuum_takes_while_it_is_written_is_written_again(settings, monkeypatch):
    sync, taken = demand_file.sync, []

    def take(paths):
        if not taken:
            taken.append(paths[0])
            paths[0].unlink()
        sync(paths)

    monkeypatch.setattr(demand_file, "sync", take)
    assert [type(each) for each in run_campaign(settings, PARTITIONS[:1])] == [Written]
    assert len(taken) == 1
    assert len(delta_rows(settings)) == 2


def append(table):
    rows = table.to_pyarrow_table()
    mine = rows.filter(pa.compute.equal(rows["region"], "R02")).slice(0, 1)
    write_deltalake(table, mine, mode="append")


@pytest.mark.parametrize(
    "meddle",
    [
        append,
        lambda table: table.delete("region = 'R02' AND product_id = 'NA'"),
        lambda table: table.optimize.z_order(["units"]),
    ],
)
def test_what_others_commit_to_a_partition_before_the_group_is_replaced_with_it(
    meddle, wiring, settings, database_url, tmp_path
):
    land_campaign(tmp_path, PARTITIONS, quantity="3")

    def at(step, partition):
        if (step, partition) == (Step.COMMITTED, PARTITIONS[-1]) and not met:
            met.append(partition)
            meddle(table_of(settings))

    met = []
    ports = replace(wiring.ports, checkpoint=at)
    outcomes = run_grouped(PARTITIONS, wiring.request(), ports, lambda outcome: None)
    assert [type(each) for each in outcomes] == [Written] * 4
    assert [row[4] for row in delta_rows(settings)] == [6] * 8
    assert [each.units for each in read_window(wiring)] == [{"SOUP": 6, "DELI": 6}] * 4
    assert [row[2] for row in ledger_rows(database_url)] == ["done"] * 4


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
