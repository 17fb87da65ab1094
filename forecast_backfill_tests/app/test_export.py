"""An export holds what the ledger vouches for, partition by partition, whatever interrupts it."""

from __future__ import annotations

import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forecast_backfill_tests.app.campaigns import run_campaign
from forecast_backfill_tests.app.exports import (
    FOUR,
    ONE,
    PLACES,
    THREE,
    TWO,
    contents,
    exported_settings,
    land_again,
    listed,
    manifest_of,
    place_of,
    read_rows,
    refuse_source,
    run_export,
)
from forecast_backfill_tests.landing.hand_made import land
from forecast_backfill_tests.postgres.rows import fetch


@pytest.fixture
def settings(database_url, tmp_path):
    return exported_settings(database_url, tmp_path / "home")


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "export"


def test_duckdb_reads_the_rows_that_the_table_has(settings, folder, database_url):
    done = run_export(settings, folder)
    assert (len(done.written), done.unchanged, done.left_out) == (4, (), ())
    stored = fetch(
        database_url,
        "SELECT date, region, store_id, product_id, units, revenue_cents, list_price_cents,"
        " on_display FROM daily_demand ORDER BY 1, 2, 3, 4",
    )
    assert len(stored) == 8
    assert read_rows(folder) == [tuple(row) for row in stored]


def test_the_manifest_says_as_of_when_what_is_there(settings, folder, database_url):
    run_export(settings, folder)
    found = manifest_of(folder)
    assert (found["state"], found["as_of"]) == ("complete", "2026-12-01T04:30:00+00:00")
    versions = fetch(
        database_url, "SELECT output_data_version FROM partition_ledger ORDER BY date, region"
    )
    assert [each["data_version"] for each in found["partitions"]] == [row[0] for row in versions]
    assert found["partitions"][0] == {
        "date": "2026-11-02",
        "region": "R01",
        "as_of": "2026-12-01T04:30:00+00:00",
        "rows": 2,
        "data_version": versions[0][0],
    }
    assert found["left_out"] == []


def test_a_repeated_export_leaves_every_file_as_it_is(settings, folder):
    run_export(settings, folder)
    before = contents(folder)
    inodes = [(folder / place).stat().st_ino for place in PLACES]
    done = run_export(settings, folder, day=2)
    assert (done.written, len(done.unchanged)) == ((), 4)
    assert [(folder / place).stat().st_ino for place in PLACES] == inodes
    assert contents(folder) == before
    assert manifest_of(folder)["as_of"] == "2026-12-02T04:30:00+00:00"


def test_another_folder_gets_the_same_bytes(settings, folder, tmp_path):
    run_export(settings, folder)
    run_export(settings, tmp_path / "other", day=2)
    assert list(contents(folder)) == PLACES
    assert contents(tmp_path / "other") == contents(folder)


def test_only_what_changed_is_written_again(settings, folder):
    run_export(settings, folder)
    before = contents(folder)
    land_again(settings, [THREE])
    done = run_export(settings, folder)
    assert [each.partition for each in done.written] == [THREE]
    after = contents(folder)
    assert [place for place in PLACES if after[place] != before[place]] == [place_of(THREE)]


def test_a_day_without_trade_is_an_empty_file(settings, folder):
    land(settings.landing_directory, TWO, [])
    run_campaign(settings, [TWO])
    run_export(settings, folder)
    assert pq.read_metadata(folder / place_of(TWO)).num_rows == 0
    assert (TWO.date.isoformat(), "R02") in listed(folder)
    assert len(read_rows(folder)) == 6


def test_a_quarantined_partition_is_named_and_its_file_goes(settings, folder):
    run_export(settings, folder)
    refuse_source(settings, TWO)
    done = run_export(settings, folder)
    (left_out,) = done.left_out
    assert (left_out.partition, left_out.is_removed) == (TWO, True)
    assert left_out.reason.startswith("stale, its source is quarantined: ")
    assert list(contents(folder)) == [place_of(each) for each in (ONE, THREE, FOUR)]
    found = manifest_of(folder)
    assert found["state"] == "incomplete"
    (missing,) = found["left_out"]
    assert (missing["region"], missing["reason"]) == ("R02", left_out.reason)
    assert len(listed(folder)) == 3


def test_what_was_never_built_is_named(settings, folder, database_url):
    gone = "DELETE FROM partition_ledger WHERE date = %s AND region = 'R02' RETURNING 1"
    fetch(database_url, gone, FOUR.date)
    (left_out,) = run_export(settings, folder).left_out
    assert (left_out.partition, left_out.reason) == (FOUR, "it was never built")
    assert not left_out.is_removed


def test_rows_that_the_ledger_does_not_vouch_for_are_not_exported(settings, folder, database_url):
    run_export(settings, folder)
    land_again(settings, [ONE])
    touched = "UPDATE daily_demand SET units = 1 WHERE date = %s AND region = 'R01' RETURNING 1"
    fetch(database_url, touched, ONE.date)
    (left_out,) = run_export(settings, folder).left_out
    assert (left_out.partition, left_out.is_removed) == (ONE, True)
    assert "forecast-backfill reconcile --from 2026-11-02 --to 2026-11-03 --regions R01" in (
        left_out.reason
    )
    assert place_of(ONE) not in contents(folder)


def test_another_range_is_added_beside_what_is_there(settings, folder):
    run_export(settings, folder, [ONE, TWO])
    run_export(settings, folder, [THREE], day=2)
    found = [(each["date"], each["as_of"][:10]) for each in manifest_of(folder)["partitions"]]
    assert found == [
        ("2026-11-02", "2026-12-01"),
        ("2026-11-02", "2026-12-01"),
        ("2026-11-03", "2026-12-02"),
    ]
    assert manifest_of(folder)["oldest_as_of"] == "2026-12-01T04:30:00+00:00"


def test_a_file_that_was_damaged_is_written_again(settings, folder):
    run_export(settings, folder)
    before = contents(folder)
    whole = before[place_of(ONE)]
    (folder / place_of(ONE)).write_bytes(whole[:200])
    (folder / place_of(TWO)).unlink()
    done = run_export(settings, folder)
    assert [each.partition for each in done.written] == [ONE, TWO]
    assert contents(folder) == before


def test_a_file_with_a_true_stamp_and_other_rows_is_written_again(settings, folder):
    run_export(settings, folder)
    before = contents(folder)
    file = folder / place_of(ONE)
    with pq.ParquetFile(file) as opened:
        rows = opened.read()
    other = rows.set_column(3, "units", pa.array([9, 9], pa.int64()))
    pq.write_table(other.replace_schema_metadata(rows.schema.metadata), file)
    assert [each.partition for each in run_export(settings, folder).written] == [ONE]
    assert contents(folder) == before


def test_postgresql_is_exported_without_the_packages_of_the_lakehouse(
    settings, folder, monkeypatch
):
    for name in ("deltalake", "duckdb"):
        monkeypatch.setitem(sys.modules, name, None)
    assert len(run_export(settings, folder).written) == 4
