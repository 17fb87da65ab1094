"""A worker goes by the last look while the next one goes on, and looks itself where it has none."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from forecast_backfill.core.pace import PaceLevel
from forecast_backfill.core.states import Workload
from forecast_backfill.pace_health import PaceHealth
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.pace import PostgresPace
from forecast_backfill_tests.postgres.rows import fetch

CALM = Settings(pace_thresholds="canary_read=100/200/300")
CROWDED = Settings(pace_thresholds="connection_use=0.0001/0.0002/0.0003")


@pytest.fixture
def session(database: str) -> Iterator[Session]:
    opened = Session(database, Workload.BACKFILL, Settings())
    yield opened
    opened.close()


def make_due(database: str) -> None:
    fetch(
        database,
        "UPDATE workload_pace SET sampled_at = sampled_at - interval '3 s' RETURNING 1",
    )


def test_a_worker_that_comes_first_looks_itself(session: Session):
    assert PaceHealth(CROWDED, session)().level is PaceLevel.PAUSED


def test_a_worker_goes_by_the_last_look_while_a_thread_takes_the_next(
    session: Session, database: str
):
    assert PaceHealth(CALM, session)().level is PaceLevel.FULL
    make_due(database)
    health = PaceHealth(CROWDED, session)
    assert health().level is PaceLevel.FULL
    health.wait(10)
    assert health().level is PaceLevel.PAUSED


def test_a_worker_whose_last_look_is_long_ago_looks_itself(session: Session, database: str):
    PaceHealth(CALM, session)()
    fetch(
        database,
        "UPDATE workload_pace SET sampled_at = sampled_at - interval '1 h' RETURNING 1",
    )
    health = PaceHealth(CROWDED, session)
    assert health().level is PaceLevel.PAUSED
    assert not any(each.name == "look at production" for each in threading.enumerate())


def test_a_database_that_goes_away_during_a_look_beside_the_work_is_met_by_the_worker(
    session: Session, database: str
):
    PaceHealth(CALM, session)()
    make_due(database)
    gone = Session("postgresql://nobody@127.0.0.1:1/nothing", Workload.BACKFILL, Settings())
    health = PaceHealth(CALM, gone)
    health._ports = health._ports.over(PostgresPace(session))
    assert health().level is PaceLevel.FULL
    health.wait(30)
    state, _ = PostgresPace(session).read()
    assert state.level is PaceLevel.FULL


def test_what_was_read_is_kept_for_a_moment(session: Session, database: str):
    health = PaceHealth(CALM, session)
    first = health.state()
    make_due(database)
    assert health.state() is first
    time.sleep(0.3)
    assert health.state() is not first
    health.wait(10)
