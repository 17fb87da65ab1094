"""A partition in a Delta table: one version always, fenced, proved, and recovered after a crash."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from dataclasses import replace

import psycopg
import pytest

from forecast_backfill.core.errors import EpochRaised
from forecast_backfill.core.outcome import Failed, Mismatched, Unchanged, Written
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.version import Winner
from forecast_backfill.ports import Step
from forecast_backfill.warehouse.partitions import lease_key
from forecast_backfill_tests.app.campaigns import FIRST
from forecast_backfill_tests.app.overlaps import Engine, Killed, Stage, World, Writer
from forecast_backfill_tests.lakehouse.deltas import (
    PARTITION,
    commits,
    data_files,
    delta_rows,
    delta_settings,
    last_commit,
    stated,
    table_of,
    units_of,
)
from forecast_backfill_tests.postgres.rows import fetch

OLD = {(f"s{number}", "1"): 1 for number in range(20)}
NEW = {(f"s{number}", "1"): 2 for number in range(5, 40)}
INSIDE = [each for each in Step if list(Step).index(each) >= list(Step).index(Step.LEASED)]
BEFORE_THE_TABLE = [each for each in INSIDE if each not in (Step.RECORDED, Step.COMMITTED)]


@pytest.fixture
def settings(database_url, tmp_path):
    return delta_settings(database_url, tmp_path)


@pytest.fixture
def stage(settings):
    with ExitStack() as opened:
        yield Stage(settings, opened)


@pytest.fixture
def world():
    return World(partition=PARTITION)


@pytest.fixture
def write(stage, world):
    def run(units=None, *, writer=None, **options):
        if units is not None:
            world.deliver(units)
        return stage.run(world, writer or Writer(engine=Engine()), **options)

    return run


def execute(url, statement):
    with psycopg.connect(url, options="-c search_path=forecast_backfill") as connection:
        connection.execute(statement)


def ledger(url):
    return fetch(url, "SELECT status, output, output_rows, output_units FROM partition_ledger")


def die_at(step):
    def die(at):
        if at is step:
            raise Killed

    return die


def test_a_later_source_takes_the_place_of_the_earlier_one(write, settings, database_url):
    assert isinstance(write(OLD), Written)
    assert units_of(settings) == OLD
    written = write(NEW)
    assert isinstance(written, Written)
    assert written.replaced_rows == 20
    assert units_of(settings) == NEW
    assert ledger(database_url) == [("done", "current", 35, 70)]
    assert fetch(database_url, "SELECT count(*) FROM daily_demand") == [(0,)]


def test_the_commit_states_partition_fingerprint_and_run(write, settings):
    written = write(OLD)
    commit = last_commit(settings)
    assert (stated(commit)["date"], stated(commit)["region"]) == ("2026-11-02", "R01")
    assert commit["forecast_backfill.run_id"] == "run-1"
    assert stated(commit)["checksum"] == str(written.fingerprint.checksum)
    assert table_of(settings).transaction_version("forecast_backfill") == 1


def test_the_history_says_why_it_was_replaced(write, database_url):
    write(OLD)
    (detail,) = fetch(database_url, "SELECT detail FROM partition_event WHERE kind = 'written'")[0]
    assert detail["primitive"] == "replace"
    assert "20 rows in a Delta table" in detail["why"]


def test_a_repeated_write_leaves_the_same_file(write, settings):
    write(OLD)
    before = delta_rows(settings), data_files(settings), commits(settings)
    assert isinstance(write(), Unchanged)
    assert isinstance(write(reprocess=True), Written)
    assert (delta_rows(settings), data_files(settings), commits(settings)) == before


def test_a_day_without_rows_is_a_current_file_without_rows(write, settings, database_url):
    write(OLD)
    assert isinstance(write({}), Written)
    assert units_of(settings) == {}
    assert ledger(database_url) == [("done", "current", 0, 0)]
    assert table_of(settings).partitions() == [{"date": "2026-11-02", "region": "R01"}]


def test_another_partition_is_not_touched(stage, write, settings):
    other = World(partition=Partition(date=FIRST, region="R02"))
    other.deliver(NEW)
    stage.run(other, Writer(engine=Engine()))
    before = delta_rows(settings, other.partition)
    write(OLD)
    write(NEW)
    assert delta_rows(settings, other.partition) == before
    assert units_of(settings) == NEW


def test_the_folder_may_have_blanks_and_other_letters(database_url, tmp_path, world):
    settings = delta_settings(database_url, tmp_path, lakehouse=tmp_path / "a läke 100%")
    with ExitStack() as opened:
        stage = Stage(settings, opened)
        for units in (OLD, NEW):
            world.deliver(units)
            assert isinstance(stage.run(world, Writer(engine=Engine())), Written)
    assert units_of(settings) == NEW
    assert len(table_of(settings).file_uris()) == 1


@pytest.mark.parametrize("step", BEFORE_THE_TABLE)
def test_a_writer_that_dies_before_the_table_commit_changes_nothing(
    step, write, settings, database_url
):
    write(OLD)
    assert write(NEW, at=die_at(step)) is None
    assert units_of(settings) == OLD
    write()
    assert units_of(settings) == NEW
    assert ledger(database_url) == [("done", "current", 35, 70)]


def test_a_crash_between_table_and_ledger_is_adopted(write, settings, database_url):
    write(OLD)
    assert write(NEW, at=die_at(Step.RECORDED)) is None
    assert units_of(settings) == NEW
    assert ledger(database_url) == [("running", "current", 20, 20)]
    found = data_files(settings), commits(settings)
    assert isinstance(write(), Written)
    assert ledger(database_url) == [("done", "current", 35, 70)]
    assert (data_files(settings), commits(settings)) == found


def test_what_a_crash_left_is_rewritten_where_the_source_has_changed_since(
    write, settings, database_url
):
    assert write(OLD, at=die_at(Step.RECORDED)) is None
    assert isinstance(write(NEW), Written)
    assert units_of(settings) == NEW
    assert ledger(database_url) == [("done", "current", 35, 70)]


def test_what_a_crash_left_is_rewritten_where_its_columns_do_not_prove_its_footer(write, settings):
    import pyarrow as pa
    import pyarrow.parquet as pq

    write(OLD)
    (file,) = data_files(settings)
    table = pq.read_table(file, partitioning=None)
    place = table.schema.get_field_index("units")
    pq.write_table(table.set_column(place, "units", pa.array([9] * 20, pa.int64())), file)
    assert isinstance(write(reprocess=True), Written)
    assert units_of(settings) == OLD
    assert len(data_files(settings)) == 2


def test_a_kill_refuses_the_commit(write, settings, database_url):
    write(OLD)

    def kill(step):
        if step is Step.PREPARED:
            execute(database_url, "UPDATE workload_control SET epoch = epoch + 1")

    with pytest.raises(EpochRaised):
        write(NEW, at=kill)
    assert units_of(settings) == OLD
    assert len(data_files(settings)) == 1


def test_a_session_lost_before_the_commit_costs_a_try_and_nothing_else(
    write, settings, database_url
):
    write(OLD)
    lost = []

    def lose(step):
        if step is Step.FINGERPRINTED and not lost:
            lost.append(step)
            with psycopg.connect(database_url, autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )

    assert isinstance(write(NEW, at=lose), Written)
    assert units_of(settings) == NEW
    assert commits(settings) == 2


def test_a_writer_waits_for_the_lease(write, settings, database_url):
    write(OLD)
    with psycopg.connect(database_url) as holder:
        holder.execute("SELECT pg_advisory_xact_lock(%s)", (lease_key(PARTITION),))
        at_lease, passed = threading.Event(), []

        def at(step):
            passed.append(step)
            if step is Step.PREPARED:
                at_lease.set()

        writer = threading.Thread(target=write, args=(NEW,), kwargs={"at": at})
        writer.start()
        assert at_lease.wait(60)
        writer.join(0.3)
        assert (writer.is_alive(), passed[-1]) == (True, Step.PREPARED)
        assert units_of(settings) == OLD
        holder.rollback()
        writer.join(60)
    assert units_of(settings) == NEW


def test_what_is_not_stored_as_it_was_read_is_not_published(write, settings, database_url):
    class Loses(Engine):
        def prepare(self, source, dimensions):
            prepared = super().prepare(source, dimensions)
            return replace(prepared, rows=prepared.rows.slice(1))

    write(OLD)
    outcome = write(NEW, writer=Writer(engine=Loses()))
    assert isinstance(outcome, Mismatched)
    assert outcome.mismatch.reason == "read 35 rows, stored 34"
    assert units_of(settings) == OLD
    assert ledger(database_url)[0][2:] == (20, 20)
    assert len(data_files(settings)) == 1


def test_an_overlap_is_refused_with_the_way_out(write, database_url):
    outcome = write(OLD, writer=Writer(engine=Engine(), winner=Winner.CORRECTION, number=1))
    assert isinstance(outcome, Failed)
    assert "an overlap cannot be merged in a lakehouse" in outcome.reason
    assert "FORECAST_BACKFILL_WAREHOUSE=postgres" in outcome.reason
