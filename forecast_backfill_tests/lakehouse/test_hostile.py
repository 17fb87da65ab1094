"""A lakehouse that others spoil: only what is vouched for is read, and a way out is named."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.transaction import AddAction, RemoveAction

from forecast_backfill.app.reconcile import Differs, Proved
from forecast_backfill.app.run_grouped import run_grouped
from forecast_backfill.core.errors import WarehouseRefused
from forecast_backfill.core.outcome import Written
from forecast_backfill.core.states import Workload
from forecast_backfill.ports import Step
from forecast_backfill.warehouse_delta import demand_file
from forecast_backfill.warehouse_delta.demand_file import TABLE_SCHEMA
from forecast_backfill.warehouse_delta.read_back import ReadBack
from forecast_backfill.wiring.partition import open_wiring
from forecast_backfill_tests.app.campaigns import (
    FIRST,
    land_campaign,
    ledger_rows,
    run_campaign,
)
from forecast_backfill_tests.lakehouse.deltas import data_files, delta_rows, table_of
from forecast_backfill_tests.lakehouse.spoilt import (
    PARTITIONS,
    read_window,
    table_folder,
    verdicts,
    write_anew,
)


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
