"""The merge in SQL does what the oracle says, row by row, whatever is stored."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from datetime import timedelta
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forecast_backfill.core.errors import PartitionLeased
from forecast_backfill.core.merge import Standing, merge
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.version import Authority, Version, Winner
from forecast_backfill.warehouse.copy_rows import copy_rows
from forecast_backfill.warehouse.merge import (
    claim_of,
    merge_rows,
    read_statements,
    read_stored_rows,
)
from forecast_backfill.warehouse.partitions import PostgresWarehouse
from forecast_backfill_tests.core.claims import versions
from forecast_backfill_tests.postgres.rows import PARTITION, REQUEST, fetch, open_session, table_of

KEYS = [("s1", "1"), ("s1", "2"), ("s2", "1"), ("ü", "日本")]
contents = st.dictionaries(st.sampled_from(KEYS), st.integers(1, 3), max_size=4)
stored = st.lists(st.tuples(versions, contents), max_size=3)
_numbers = count()
LIVE = Version(authority=Authority.LIVE, source_version=200)


def table_for(partition, units):
    return table_of(
        [
            {"store_id": store, "product_id": product, "units": each}
            for (store, product), each in units.items()
        ],
        partition,
    )


def put(connection, partition, version, units):
    """Rows as a foreign writer may have left them: each key once, of any version."""
    taken = {
        (row["store_id"], row["product_id"])
        for row in connection.execute(
            "SELECT store_id, product_id FROM daily_demand WHERE date = %s", (partition.date,)
        )
    }
    new = {key: each for key, each in units.items() if key not in taken}
    if new:
        copy_rows(connection, partition, table_for(partition, new), version)


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(before=stored, floor=st.none() | versions, version=versions, units=contents)
def test_the_database_merges_as_the_oracle_does(database, before, floor, version, units):
    partition = Partition(date=PARTITION.date + timedelta(days=next(_numbers)), region="R07")
    table = table_for(partition, units)
    with open_session(database) as session, session.transaction() as connection:
        for each, rows in before:
            put(connection, partition, each, rows)
        found = read_stored_rows(connection, partition)
        due = merge(found, Standing(floor=floor), claim_of(table, version))
        changed = merge_rows(connection, partition, table, version, floor)
        assert read_stored_rows(connection, partition) == due.rows
        assert changed == due.counts.changed
        counted = sum(rows for rows, _ in read_statements(connection, partition).values())
        assert counted == len(due.rows)


def test_a_repeated_merge_writes_no_row(database):
    table = table_for(PARTITION, {KEYS[0]: 1, KEYS[1]: 2})
    with open_session(database) as session:
        with session.transaction() as connection:
            assert merge_rows(connection, PARTITION, table, LIVE, None) == 2
        with session.transaction() as connection:
            assert merge_rows(connection, PARTITION, table, LIVE, LIVE) == 0


def test_a_merge_touches_no_other_partition(database):
    other = Partition(date=PARTITION.date, region="R08")
    table = table_for(PARTITION, {KEYS[0]: 1})
    with open_session(database) as session, session.transaction() as connection:
        copy_rows(connection, other, table_for(other, {KEYS[0]: 7, KEYS[1]: 7}), LIVE)
        newer = replace(LIVE, source_version=300)
        merge_rows(connection, PARTITION, table, newer, LIVE)
        assert len(read_stored_rows(connection, other)) == 2


def test_a_campaign_beside_nightly_takes_the_lease_after_all_who_wait(database):
    """Nightly queues after the campaign has begun to look at the lease, and still comes first."""
    order = []
    beside = replace(REQUEST, run_id="campaign", winner=Winner.LIVE)

    def write(request, name):
        with (
            open_session(database) as session,
            PostgresWarehouse(session).transaction(PARTITION, request) as transaction,
        ):
            transaction.take_lease()
            order.append(name)

    with open_session(database) as holder:
        with PostgresWarehouse(holder).transaction(PARTITION, REQUEST) as transaction:
            transaction.take_lease()
            campaign = threading.Thread(target=write, args=(beside, "campaign"))
            campaign.start()
            deadline = time.monotonic() + 30
            seen = "SELECT count(*) FROM pg_stat_activity WHERE application_name ~ '^campaign '"
            while not fetch(database, seen)[0][0] and time.monotonic() < deadline:
                time.sleep(0.01)
            nightly = threading.Thread(target=write, args=(REQUEST, "nightly"))
            nightly.start()
            waits = "SELECT count(*) FROM pg_locks WHERE NOT granted"
            while not fetch(database, waits)[0][0]:
                assert time.monotonic() < deadline, "nightly does not wait"
                time.sleep(0.01)
            assert order == []
        for each in (campaign, nightly):
            each.join(30)
    assert order == ["nightly", "campaign"]


def test_a_lease_that_stays_taken_ends_a_campaigns_patience(database):
    beside = replace(REQUEST, winner=Winner.CORRECTION)
    with (
        open_session(database) as holder,
        open_session(database, lock_timeout_seconds=0.1) as late,
        PostgresWarehouse(holder).transaction(PARTITION, REQUEST) as transaction,
    ):
        transaction.take_lease()
        with (
            pytest.raises(PartitionLeased, match="2026-11-01 R07"),
            PostgresWarehouse(late).transaction(PARTITION, beside) as second,
        ):
            second.take_lease()
