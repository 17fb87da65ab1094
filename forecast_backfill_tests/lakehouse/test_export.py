"""An export of a Delta table gives the files that one of PostgreSQL gives."""

from __future__ import annotations

import shutil

import pyarrow.parquet as pq
import pytest
from deltalake.transaction import AddAction

from forecast_backfill.settings.lakehouse import WarehouseKind
from forecast_backfill.warehouse_delta import exported
from forecast_backfill.warehouse_delta.demand_file import TABLE_SCHEMA
from forecast_backfill_tests.app.campaigns import run_campaign
from forecast_backfill_tests.app.exports import (
    ONE,
    PARTITIONS,
    TWO,
    contents,
    exported_settings,
    land_again,
    manifest_of,
    place_of,
    refuse_source,
    run_export,
)
from forecast_backfill_tests.lakehouse.deltas import data_files, delta_rows, table_of


@pytest.fixture
def postgres(database_url, tmp_path):
    return exported_settings(database_url, tmp_path / "home")


@pytest.fixture
def delta(postgres, monkeypatch):
    monkeypatch.setattr(exported, "WAIT_SECONDS", 0.0)
    return postgres.model_copy(update={"warehouse": WarehouseKind.DELTA})


def test_both_warehouses_give_the_same_files_to_the_byte(postgres, delta, tmp_path):
    run_export(postgres, tmp_path / "one")
    run_campaign(delta, PARTITIONS)
    assert len(delta_rows(delta)) == 8
    done = run_export(delta, tmp_path / "two")
    assert (len(done.written), done.left_out) == (4, ())
    assert contents(tmp_path / "two") == contents(tmp_path / "one")
    assert (tmp_path / "two/_export.json").read_bytes() == (
        tmp_path / "one/_export.json"
    ).read_bytes()


def test_a_quarantined_partition_of_a_lakehouse_is_named(delta, tmp_path):
    run_campaign(delta, PARTITIONS)
    run_export(delta, tmp_path / "export")
    refuse_source(delta, TWO)
    (left_out,) = run_export(delta, tmp_path / "export").left_out
    assert (left_out.partition, left_out.is_removed) == (TWO, True)
    assert place_of(TWO) not in contents(tmp_path / "export")


def test_what_was_not_moved_yet_is_named_unless_its_file_is_current(postgres, delta, tmp_path):
    run_export(postgres, tmp_path / "earlier", [TWO])
    run_campaign(delta, [ONE])
    done = run_export(delta, tmp_path / "earlier", [ONE, TWO])
    assert [each.partition for each in done.written] == [ONE]
    assert [each.partition for each in done.unchanged] == [TWO]
    (left_out,) = run_export(delta, tmp_path / "new", [ONE, TWO]).left_out
    assert left_out.reason == (
        "its rows lie in the other warehouse than FORECAST_BACKFILL_WAREHOUSE names: "
        "forecast-backfill backfill --from 2026-11-02 --to 2026-11-03 --regions R02 moves them"
    )


def test_a_file_that_is_gone_from_the_lakehouse_is_not_exported(delta, tmp_path):
    run_campaign(delta, PARTITIONS)
    land_again(delta, [ONE])
    for file in data_files(delta):
        if (file.parent.name, file.parent.parent.name) == ("region=R01", "date=2026-11-02"):
            file.unlink()
    (left_out,) = run_export(delta, tmp_path / "export").left_out
    assert left_out.partition == ONE
    assert left_out.reason.startswith("the warehouse holds 0 rows of ")
    assert manifest_of(tmp_path / "export")["state"] == "incomplete"


def test_a_foreign_file_outside_of_the_folders_keeps_its_partition_out_of_an_export(
    delta, tmp_path
):
    run_campaign(delta, PARTITIONS)
    mine = data_files(delta)[0]
    shutil.copy(mine, delta.lakehouse_directory / "daily_demand" / "part-0.parquet")
    foreign = AddAction(
        path="part-0.parquet",
        size=mine.stat().st_size,
        partition_values={"date": str(ONE.date), "region": "R01"},
        modification_time=1,
        data_change=True,
        stats="{}",
    )
    table_of(delta).create_write_transaction([foreign], "append", TABLE_SCHEMA, ["date", "region"])
    done = run_export(delta, tmp_path / "export")
    assert [each.partition for each in done.left_out] == [ONE]
    assert done.left_out[0].reason.startswith("the warehouse holds 4 rows of ")
    assert [each.partition for each in done.written] == PARTITIONS[1:]


def test_a_file_of_the_lakehouse_that_lacks_a_column_is_not_exported(delta, tmp_path):
    run_campaign(delta, PARTITIONS)
    file = data_files(delta)[0]
    with pq.ParquetFile(file) as opened:
        rows = opened.read()
    pq.write_table(rows.drop_columns(["units"]), file)
    (left_out,) = run_export(delta, tmp_path / "export").left_out
    assert left_out.partition == ONE
    assert left_out.reason.startswith("the warehouse holds 0 rows of ")


def test_a_lakehouse_that_was_never_written_has_nothing_to_export(delta, tmp_path):
    left_out = run_export(delta, tmp_path / "export").left_out
    assert [each.partition for each in left_out] == PARTITIONS
    assert not delta.lakehouse_directory.exists()
