"""What every write primitive promises: idempotent, atomic, fenced, reconciled, one version read."""

from __future__ import annotations

import threading
from contextlib import ExitStack

import psycopg
import pytest

from forecast_backfill.core.errors import EpochRaised
from forecast_backfill.core.outcome import Mismatched, Unchanged, Written
from forecast_backfill.core.partition import Partition
from forecast_backfill.ports import Step
from forecast_backfill.warehouse.partitions import lease_key
from forecast_backfill_tests.app.campaigns import FIRST
from forecast_backfill_tests.app.overlaps import Engine, Killed, Stage, World, stored_rows
from forecast_backfill_tests.conformance.write_ways import IN_LEAVES, WAYS
from forecast_backfill_tests.postgres.rows import fetch

OLD = {(f"s{number}", "1"): 1 for number in range(20)}
NEW = {(f"s{number}", "1"): 2 for number in range(5, 40)}
INSIDE = [each for each in Step if list(Step).index(each) >= list(Step).index(Step.LEASED)]


@pytest.fixture(params=WAYS, ids=lambda way: way.name)
def way(request):
    return request.param


@pytest.fixture
def stage(way, database_url, tmp_path):
    with ExitStack() as opened:
        yield Stage(way.settings(database_url, tmp_path), opened)


@pytest.fixture
def world():
    return World(partition=Partition(date=FIRST, region="R01"))


@pytest.fixture
def write(way, stage, world):
    def run(units=None, **options):
        if units is not None:
            world.deliver(units)
        return stage.run(world, way.writer(Engine()), **options)

    return run


@pytest.fixture
def units(database_url, world):
    def stored():
        return {row[:2]: row[2] for row in stored_rows(database_url, world.partition)}

    return stored


def execute(url, statement):
    with psycopg.connect(url, options="-c search_path=forecast_backfill") as connection:
        connection.execute(statement)


def ledger(url):
    return fetch(url, "SELECT status, output, output_rows, output_units FROM partition_ledger")


in_both_layouts = pytest.mark.parametrize(
    "way", WAYS + IN_LEAVES, ids=lambda way: way.name, indirect=True
)


@in_both_layouts
def test_a_later_source_takes_the_place_of_the_earlier_one(write, units, database_url):
    assert isinstance(write(OLD), Written)
    assert units() == OLD
    assert isinstance(write(NEW), Written)
    assert units() == NEW
    assert ledger(database_url) == [("done", "current", 35, 70)]


def test_the_history_says_by_which_primitive_and_why(way, write, database_url):
    write(OLD)
    (detail,) = fetch(database_url, "SELECT detail FROM partition_event WHERE kind = 'written'")[0]
    assert detail["primitive"] == way.primitive
    assert "rows" in detail["why"] or "version" in detail["why"]


def test_a_repeated_write_leaves_the_same_bytes(write, world, database_url):
    write(OLD)
    before = stored_rows(database_url, world.partition)
    assert isinstance(write(), Unchanged)
    assert isinstance(write(reprocess=True), Written)
    assert stored_rows(database_url, world.partition) == before


def test_a_day_without_rows_leaves_none(write, units, database_url):
    write(OLD)
    assert isinstance(write({}), Written)
    assert units() == {}
    assert ledger(database_url) == [("done", "current", 0, 0)]


def test_another_partition_is_not_touched(way, stage, write, units, database_url):
    other = World(partition=Partition(date=FIRST, region="R02"))
    other.deliver(NEW)
    stage.run(other, way.writer(Engine()))
    before = stored_rows(database_url, other.partition)
    write(OLD)
    write(NEW)
    assert stored_rows(database_url, other.partition) == before
    assert units() == NEW


@in_both_layouts
def test_a_writer_that_dies_leaves_all_or_nothing_and_its_retry_the_rest(write, units):
    write(OLD)
    before, after = OLD, NEW
    for step in INSIDE:

        def die(at, step=step):
            if at is step:
                raise Killed

        assert write(after, at=die) is None
        assert units() == (after if step is Step.COMMITTED else before)
        write()
        assert units() == after
        before, after = after, before


def test_readers_find_one_version_while_it_is_written(write, world, database_url):
    write(OLD)
    found, is_over = set(), threading.Event()
    sums = "SELECT count(*), sum(units) FROM daily_demand WHERE date = %s AND region = %s"

    def read():
        options = "-c search_path=forecast_backfill"
        with psycopg.connect(database_url, options=options, autocommit=True) as connection:
            while not is_over.is_set():
                values = (world.partition.date, world.partition.region)
                found.add(connection.execute(sums, values).fetchone())

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for each in (NEW, OLD) * 3:
            assert isinstance(write(each), Written)
    finally:
        is_over.set()
        reader.join(60)
    assert found <= {(20, 20), (35, 70)}


def test_a_kill_refuses_the_commit(write, units, database_url):
    write(OLD)

    def kill(step):
        if step is Step.PREPARED:
            execute(database_url, "UPDATE workload_control SET epoch = epoch + 1")

    with pytest.raises(EpochRaised):
        write(NEW, at=kill)
    assert units() == OLD


def test_a_writer_waits_for_the_lease(write, units, world, database_url):
    write(OLD)
    with psycopg.connect(database_url) as holder:
        holder.execute("SELECT pg_advisory_xact_lock(%s)", (lease_key(world.partition),))
        passed = []
        at_lease = threading.Event()

        def at(step):
            passed.append(step)
            if step is Step.PREPARED:
                at_lease.set()

        writer = threading.Thread(target=write, args=(NEW,), kwargs={"at": at})
        writer.start()
        assert at_lease.wait(60)
        writer.join(0.3)
        assert (writer.is_alive(), passed[-1]) == (True, Step.PREPARED)
        assert units() == OLD
        holder.rollback()
        writer.join(60)
    assert units() == NEW


@pytest.mark.parametrize(
    "change", ["DELETE FROM {} WHERE store_id = 's7'", "UPDATE {} SET units = 3"]
)
def test_what_is_not_stored_as_it_was_read_is_rolled_back(
    change, way, stage, world, write, units, database_url
):
    write(OLD)
    taken = []
    take = stage._take
    stage._take = lambda workload: taken.append(take(workload)) or taken[-1]

    def meddle(step):
        if step is Step.REPLACED:
            statement = change.format(way.written_table(world.partition))
            with taken[-1].session.use() as connection:
                connection.execute(statement.encode())

    outcome = write(NEW, at=meddle)
    assert isinstance(outcome, Mismatched)
    assert units() == OLD
    assert ledger(database_url)[0][2:] == (20, 20)
