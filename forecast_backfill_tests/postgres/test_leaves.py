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
from forecast_backfill.warehouse.plan_facts import PostgresPlanFacts
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


@pytest.fixture
def reader_role(database):
    """A role of the server, which outlives the database."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("CREATE ROLE leaf_reader_of_test; GRANT ALL ON SCHEMA public TO PUBLIC")
        yield "leaf_reader_of_test"
        connection.execute("DROP OWNED BY leaf_reader_of_test; DROP ROLE leaf_reader_of_test")


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


def test_an_empty_table_that_gets_leaves_keeps_what_was_granted(database, reader_role):
    may = (
        "SELECT has_table_privilege(%s, 'daily_demand_for_readers', 'SELECT'),"
        " has_table_privilege(%s, 'daily_demand', 'SELECT WITH GRANT OPTION'),"
        " has_column_privilege(%s, 'daily_demand_at_shelf_price', 'units', 'SELECT'),"
        " has_column_privilege(%s, 'daily_demand_at_shelf_price', 'region', 'SELECT'),"
        " (SELECT count(*) FROM pg_class, aclexplode(relacl) AS acl"
        "  WHERE oid = 'daily_demand_for_readers'::regclass AND acl.grantee = 0)"
    )
    with psycopg.connect(database, options=OPTIONS) as connection:
        connection.execute(
            f"GRANT SELECT ON daily_demand_for_readers TO {reader_role}, PUBLIC;"
            f"GRANT SELECT ON daily_demand TO {reader_role} WITH GRANT OPTION;"
            f"GRANT SELECT (units) ON daily_demand_at_shelf_price TO {reader_role};"
            "CREATE VIEW public.theirs AS SELECT units FROM daily_demand;"
            f"ALTER VIEW public.theirs OWNER TO {reader_role}"
        )
    expected = [(True, True, True, False, 1)]
    assert fetch(database, may, *[reader_role] * 4) == expected
    with open_session(database) as session:
        assert PostgresWarehouse(session, LEAVES).target().layout is Layout.LEAVES
    assert fetch(database, may, *[reader_role] * 4) == expected
    owner = "SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = 'public.theirs'::regclass"
    assert fetch(database, owner) == [(reader_role,)]


def test_a_view_keeps_its_options_and_its_schemas_name(database):
    options = (
        "SELECT reloptions FROM pg_class JOIN pg_namespace AS space ON space.oid = relnamespace"
        " WHERE nspname = 'Their Marts' AND relname = 'Units'"
    )
    with psycopg.connect(database, options=OPTIONS) as connection:
        connection.execute(
            'CREATE SCHEMA "Their Marts"; CREATE VIEW "Their Marts"."Units"'
            " WITH (security_barrier=true, check_option=local) AS"
            " SELECT region, units FROM daily_demand WHERE units > 0"
        )
    with open_session(database) as session:
        PostgresWarehouse(session, LEAVES).target()
    assert fetch(database, options) == [(["security_barrier=true", "check_option=local"],)]


def test_a_view_that_others_depend_on_is_not_made_again_in_passing(database):
    with psycopg.connect(database, options=OPTIONS) as connection:
        connection.execute("CREATE VIEW theirs AS SELECT units FROM daily_demand_for_readers")
    with (
        open_session(database) as session,
        pytest.raises(SettingRefused, match="view theirs depends on"),
    ):
        PostgresWarehouse(session, LEAVES).target()
    with open_session(database) as session:
        assert PostgresWarehouse(session).target().layout is Layout.PLAIN


def test_a_partition_with_a_leaf_takes_the_bytes_of_its_leaf(database):
    with open_session(database) as session:
        PostgresWarehouse(session, LEAVES).target()
        swap(session, 1)
        found = PostgresPlanFacts(session).partition_bytes()
    # A page of rows, two of the key, one for the index of texts that are stored apart.
    assert found == 4 * 8192


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
