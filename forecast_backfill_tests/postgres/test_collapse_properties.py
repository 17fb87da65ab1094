"""A collapse leaves what a plain reading of the rule leaves; commit times where they are kept."""

from collections import defaultdict
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forecast_backfill.app.diagnose import NotCollapsed
from forecast_backfill.warehouse.embedded import EmbeddedServer
from forecast_backfill_tests.postgres.doubled import (
    SALES,
    collapse,
    execute,
    findings,
)

regions = st.sampled_from(["R01", None])
stores = st.sampled_from(["s1", "s2", ""])
versions = st.sampled_from([None, 1, 2])
row = st.tuples(regions, stores, st.integers(0, 1), versions)


def oracle(rows):
    """By region, the newest row of every key; None where the newest rows of a key differ."""
    keys = defaultdict(lambda: defaultdict(list))
    for region, store, units, version in rows:
        keys[region][store].append((-1 if version is None else version, units))
    left = {}
    for region, found in keys.items():
        newest = {
            key: {each for each in own if each[0] == max(own)[0]} for key, own in found.items()
        }
        is_tied = any(len(each) > 1 for each in newest.values())
        left[region] = None if is_tied else {key: each.pop() for key, each in newest.items()}
    return left


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=st.lists(row, max_size=10))
def test_the_newest_row_of_every_key_is_left_or_its_partition_untouched(sales_url, rows):
    with psycopg.connect(sales_url) as connection:
        connection.execute("TRUNCATE sales")
        for region, store, units, version in rows:
            connection.execute(
                "INSERT INTO sales (region, store, units, version) VALUES (%s, %s, %s, %s)",
                (region, store, units, version),
            )
    asked = {"key": ("region", "store"), "partition_by": ("region",), "version": "version"}
    repairs = collapse(sales_url, **asked)
    refused = {each.place[0] for each in repairs if isinstance(each, NotCollapsed)}
    stored = defaultdict(list)
    for region, store, units, version in execute(
        sales_url, "SELECT region, store, units, coalesce(version, -1) FROM sales"
    ):
        stored[region].append((store, (version, units)))
    for region, left in oracle(rows).items():
        if left is None:
            assert region in refused
            assert len(stored[region]) == sum(each[0] == region for each in rows)
        else:
            assert region not in refused
            assert sorted(stored[region]) == sorted(left.items())


@pytest.fixture
def tracking_url(home):
    """A server of its own that keeps the times of commits."""
    server = EmbeddedServer(home)
    try:
        execute(server.start(), "ALTER SYSTEM SET track_commit_timestamp = on")
        server.stop()
        url = server.start()
        execute(url, SALES)
        execute(url, "ALTER TABLE sales DROP run_id, DROP written_at")
        yield url
    finally:
        server.stop()


def test_writers_are_told_with_the_time_of_their_commit_where_the_server_keeps_it(tracking_url):
    statement = "INSERT INTO sales (date, region, store) VALUES ('2026-11-01', 'R01', 's1')"
    for _ in range(2):
        execute(tracking_url, statement)
    (found,) = findings(tracking_url)
    assert [each.rows for each in found.writers] == [1, 1]
    assert all(each.is_known for each in found.writers)
    first, second = (each.at for each in found.writers)
    assert first <= second
    assert datetime.now(UTC) - second < timedelta(minutes=10)
