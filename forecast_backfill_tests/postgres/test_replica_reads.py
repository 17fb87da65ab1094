"""Windows are read from a replica only where it has all that the primary has."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from forecast_backfill.core.partition import DateRange
from forecast_backfill.core.states import Workload
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.embedded import EmbeddedServer
from forecast_backfill.warehouse.replica import Replica
from forecast_backfill.warehouse.windows import PostgresDemand
from forecast_backfill_tests.conftest import server_home
from forecast_backfill_tests.postgres.replicas import Pair, execute, streaming_pair
from forecast_backfill_tests.postgres.rows import PARTITION, request_of, table_of, write

PATIENT = Settings(replica_patience_seconds=20)
HASTY = Settings(replica_patience_seconds=0)
WINDOW = DateRange(start=PARTITION.date, end=PARTITION.date + timedelta(days=1))


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with server_home() as home, streaming_pair(home) as found:
        yield found


@pytest.fixture
def primary(pair: Pair) -> Iterator[Session]:
    session = Session(pair.primary.url, Workload.BACKFILL, Settings())
    yield session
    session.close()


def is_replica(session: Session) -> bool:
    with session.use() as connection:
        row = connection.execute("SELECT pg_is_in_recovery() AS it_is").fetchone()
    assert row is not None
    return bool(row["it_is"])


def test_what_was_just_committed_is_waited_for_and_read_on_the_replica(
    pair: Pair, primary: Session
) -> None:
    replica = Replica(pair.replica.url, PATIENT)
    for units in range(1, 6):
        row = {"store_id": "1", "product_id": "1", "units": units}
        write(primary, table_of([row]), request_of(f"run-{units}"))
        found = PostgresDemand(primary, replica).read(WINDOW)
        assert [dict(each.units) for each in found] == [{"MILK": units}]
    assert replica.read(primary, is_replica) is True


def test_a_replica_that_is_behind_is_not_read(pair: Pair, primary: Session) -> None:
    execute(pair.replica.url, "SELECT pg_wal_replay_pause()")
    try:
        write(primary, table_of([{"store_id": "9", "product_id": "9"}]), request_of("behind"))
        replica = Replica(pair.replica.url, HASTY)
        assert replica.read(primary, is_replica) is None
        found = PostgresDemand(primary, replica).read(WINDOW)
        assert [dict(each.units) for each in found] == [{"MILK": 1}]
    finally:
        execute(pair.replica.url, "SELECT pg_wal_replay_resume()")


def test_the_primary_itself_is_no_replica(pair: Pair, primary: Session) -> None:
    assert Replica(pair.primary.url, HASTY).read(primary, is_replica) is None


def test_another_primarys_server_is_not_read(server: EmbeddedServer, primary: Session) -> None:
    assert Replica(server.url, HASTY).read(primary, is_replica) is None


def test_a_replica_that_is_down_is_not_read(primary: Session) -> None:
    nowhere = "postgresql://nobody@127.0.0.1:1/postgres"
    assert Replica(nowhere, HASTY).read(primary, is_replica) is None


def test_a_role_without_any_privilege_may_ask_where_the_log_is(pair: Pair) -> None:
    execute(pair.primary.url, "DROP ROLE IF EXISTS plain")
    execute(pair.primary.url, "CREATE ROLE plain")
    allowed = execute(
        pair.primary.url,
        "SELECT has_function_privilege('plain', 'pg_control_system()', 'execute')",
    )
    assert allowed == (True,)
