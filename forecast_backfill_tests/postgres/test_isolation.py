"""Backfill's connections: their limits, and how many there are at once."""

from __future__ import annotations

import pytest

from forecast_backfill.core.errors import ConnectionsExhausted, DatabaseUnavailable
from forecast_backfill.core.states import Workload
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse import seats
from forecast_backfill.warehouse.connect import Session
from forecast_backfill_tests.postgres.rows import fetch

LIMITS = (
    "SELECT current_setting('statement_timeout') AS statements, "
    "current_setting('lock_timeout') AS locks, current_setting('work_mem') AS memory"
)
TWO = Settings(backfill_connections=2)


def limits_of(session: Session) -> tuple[str, ...]:
    with session.use() as connection:
        row = connection.execute(LIMITS.encode()).fetchone()
    session.close()
    assert row is not None
    return tuple(row.values())


def bounded(url: str, workload: Workload = Workload.BACKFILL) -> Session:
    return Session(url, workload, TWO, is_bounded=True)


def is_answering(session: Session) -> bool:
    with session.use() as connection:
        return connection.execute("SELECT 1").fetchone() is not None


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who finds no seat is refused at once."""
    monkeypatch.setattr(seats, "SEAT_PATIENCE_SECONDS", -1.0)


def test_each_workload_has_limits_of_its_own(database: str) -> None:
    backfill = Session(database, Workload.BACKFILL, Settings())
    nightly = Session(database, Workload.NIGHTLY, Settings())
    assert limits_of(backfill) == ("2min", "10s", "16MB")
    assert limits_of(nightly) == ("2min", "30s", "64MB")


def test_backfill_never_waits_longer_than_everybody_may(database: str) -> None:
    settings = Settings(lock_timeout_seconds=3, statement_timeout_seconds=7)
    assert limits_of(Session(database, Workload.BACKFILL, settings))[:2] == ("7s", "3s")


def test_a_run_beyond_the_connections_of_backfill_is_refused(
    database: str, impatient: None
) -> None:
    first, second, third = (bounded(database) for _ in range(3))
    try:
        assert is_answering(first)
        assert is_answering(second)
        with pytest.raises(ConnectionsExhausted, match="all 2 connections of backfill are taken"):
            is_answering(third)
        assert issubclass(ConnectionsExhausted, DatabaseUnavailable)
        left = fetch(
            database,
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid()",
        )
        assert left == [(2,)], "who waits for a seat stays connected"
        first.close()
        assert is_answering(third)
    finally:
        for each in (first, second, third):
            each.close()


def test_a_seat_is_waited_for(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    held = [bounded(database), bounded(database)]
    late = bounded(database)
    assert all(is_answering(each) for each in held)
    monkeypatch.setattr(seats.time, "sleep", lambda seconds: held[0].close())
    assert is_answering(late)
    for each in (*held, late):
        each.close()


def test_neither_nightly_nor_who_looks_takes_a_seat(database: str, impatient: None) -> None:
    full = [bounded(database), bounded(database)]
    assert all(is_answering(each) for each in full)
    others = [bounded(database, Workload.NIGHTLY), Session(database, Workload.BACKFILL, TWO)]
    assert all(is_answering(each) for each in others)
    for each in (*full, *others):
        each.close()
