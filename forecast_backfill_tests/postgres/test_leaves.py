"""A table with one leaf a partition: how it is made, who waits for a swap, and what it shows."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from forecast_backfill.core.errors import PartitionLeased, SettingRefused
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.strategy import Layout, Target
from forecast_backfill.warehouse import swap_leaf
from forecast_backfill.warehouse.ledger import PostgresLedger
from forecast_backfill.warehouse.partitions import PostgresWarehouse
from forecast_backfill_tests.postgres.rows import (
    PARTITION,
    REQUEST,
    VERSION,
    completion_of,
    fetch,
    fingerprint_of,
    open_session,
    table_of,
    write,
)

LEAVES = Target(layout=Layout.LEAVES, large_rows=1, needs_one_version=False)
OPTIONS = "-c search_path=forecast_backfill"


def rows_of(units, partition=PARTITION):
    return table_of(
        [{"store_id": str(n), "product_id": "1", "units": units} for n in range(20)], partition
    )


def swap(session, units, partition=PARTITION, before_swap=lambda: None):
    table = rows_of(units, partition)
    PostgresLedger(session).start(partition, REQUEST)
    with PostgresWarehouse(session, LEAVES).transaction(partition, REQUEST) as transaction:
        transaction.take_lease()
        transaction.hold_epoch()
        transaction.swap_leaf(table, VERSION)
        assert transaction.fingerprint() == fingerprint_of(table)
        before_swap()
        transaction.complete(completion_of(table))


def test_an_empty_table_gets_leaves_and_keeps_its_views_and_constraints(database):
    described = (
        "SELECT obj_description('daily_demand_at_shelf_price'::regclass, 'pg_class'),"
        " obj_description('daily_demand'::regclass, 'pg_class'),"
        " (SELECT array_agg(conname::text ORDER BY conname) FROM pg_constraint"
        "  WHERE conrelid = 'daily_demand'::regclass AND contype <> 'n')"
    )
    before = fetch(database, described)
    with open_session(database) as session:
        assert PostgresWarehouse(session, LEAVES).target().layout is Layout.LEAVES
        # A second process finds it so, whatever it wants itself.
        assert PostgresWarehouse(session).target().layout is Layout.LEAVES
        swap(session, 1)
    assert fetch(database, described) == before
    assert fetch(database, "SELECT count(*) FROM daily_demand_at_shelf_price") == [(20,)]
    assert fetch(database, "SELECT tableoid::regclass::text FROM daily_demand LIMIT 1") == [
        ('"daily_demand_20261101_R07"',)
    ]


def test_a_table_with_rows_is_not_turned_into_leaves_in_passing(database):
    with open_session(database) as session:
        write(session, rows_of(1))
        with pytest.raises(SettingRefused, match="holds rows already"):
            PostgresWarehouse(session, LEAVES).target()
    assert fetch(database, "SELECT count(*) FROM daily_demand") == [(20,)]


def test_a_swap_drops_the_old_leaf(database):
    with open_session(database) as session:
        for units in (1, 2, 3):
            swap(session, units)
    assert fetch(database, "SELECT DISTINCT units FROM daily_demand") == [(3,)]
    leaves = "SELECT relname FROM pg_class WHERE relname ^@ 'daily_demand_2' AND relkind = 'r'"
    assert fetch(database, leaves) == [("daily_demand_20261101_R07",)]


def test_swaps_of_one_date_side_by_side_do_not_lock_each_other_out(database):
    with open_session(database) as session:
        PostgresWarehouse(session, LEAVES).target()

    def swap_often(region):
        partition = Partition(date=PARTITION.date, region=region)
        with open_session(database) as session:
            for units in range(1, 6):
                swap(session, units, partition)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(swap_often, ["R01", "R02", "R03"]))
    found = fetch(database, "SELECT region, count(*), min(units) FROM daily_demand GROUP BY 1")
    assert sorted(found) == [("R01", 20, 5), ("R02", 20, 5), ("R03", 20, 5)]


def test_a_reader_who_came_first_is_waited_for_and_others_pass_meanwhile(database):
    with open_session(database) as session:
        swap(session, 1)
        with psycopg.connect(database, options=OPTIONS) as reader:
            reader.execute("SELECT count(*) FROM daily_demand")
            writer = threading.Thread(target=swap, args=(session, 2))
            writer.start()
            deadline = time.monotonic() + 30
            while not fetch(database, "SELECT count(*) FROM pg_locks WHERE NOT granted")[0][0]:
                assert time.monotonic() < deadline, "the swap does not wait"
                time.sleep(0.005)
            # Between the tries of the swap a later reader gets through, to the old rows.
            assert fetch(database, "SELECT DISTINCT units FROM daily_demand") == [(1,)]
            assert writer.is_alive()
        writer.join(30)
    assert fetch(database, "SELECT DISTINCT units FROM daily_demand") == [(2,)]


def test_a_swap_that_readers_never_let_through_is_tried_again_later(database, monkeypatch):
    monkeypatch.setattr(swap_leaf, "_TRIES", 2)
    with open_session(database) as session:
        swap(session, 1)
        with psycopg.connect(database, options=OPTIONS) as reader:
            reader.execute("SELECT count(*) FROM daily_demand")
            with pytest.raises(PartitionLeased, match="readers of 2026-11-01 held their locks"):
                swap(session, 2)
        assert fetch(database, "SELECT DISTINCT units FROM daily_demand") == [(1,)]


def test_an_older_snapshot_finds_a_swapped_partition_empty(database):
    """The price of a swap, and why it is chosen only where it was asked for."""
    other = Partition(date=PARTITION.date, region="R08")
    with open_session(database) as session:
        swap(session, 1)
        swap(session, 1, other)
        with psycopg.connect(database, options=OPTIONS) as reader:
            reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            reader.execute("SELECT 1 FROM partition_ledger")
            swap(session, 2)
            seen = reader.execute("SELECT region, count(*) FROM daily_demand GROUP BY 1").fetchall()
    assert seen == [("R08", 20)]
