"""A worker goes by the last look while the next one goes on, and looks itself where it has none."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest

from forecast_backfill.core.pace import PaceLevel
from forecast_backfill.core.states import Workload
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.pace import PostgresPace
from forecast_backfill.warehouse.signals.short_wait import wait_until
from forecast_backfill.wiring.night import open_night
from forecast_backfill.wiring.pace_health import PaceHealth
from forecast_backfill.wiring.partition import open_wiring
from forecast_backfill_tests.postgres.rows import fetch

CALM = Settings(pace_thresholds="canary_read=100/200/300")
CROWDED = Settings(pace_thresholds="connection_use=0.0001/0.0002/0.0003")
QUICK = Settings(pace_thresholds="canary_read=100/200/300", pace_seconds=0.1)


@pytest.fixture
def session(database: str) -> Iterator[Session]:
    opened = Session(database, Workload.BACKFILL, Settings())
    yield opened
    opened.close()


@contextmanager
def health_of(settings: Settings, session: Session) -> Iterator[PaceHealth]:
    health = PaceHealth(settings, session)
    try:
        yield health
    finally:
        health.close()
        assert wait_until(lambda: not lookers(), 30)


def lookers() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "look at production"]


def make_older(database: str, seconds: float) -> None:
    fetch(
        database,
        "UPDATE workload_pace SET sampled_at = sampled_at - make_interval(secs => %s) RETURNING 1",
        seconds,
    )


def last_look(session: Session) -> datetime | None:
    return PostgresPace(session).read()[0].sampled_at


def look_once(session: Session) -> None:
    with health_of(CALM, session) as health:
        assert health().level is PaceLevel.FULL


def test_a_worker_that_comes_first_looks_itself(session: Session):
    with health_of(CROWDED, session) as health:
        assert health().level is PaceLevel.PAUSED


def test_a_worker_goes_by_the_last_look_while_a_thread_takes_the_next(
    session: Session, database: str
):
    look_once(session)
    make_older(database, 3)
    with health_of(CROWDED, session) as health:
        assert health().level is PaceLevel.FULL
        assert wait_until(lambda: health().level is PaceLevel.PAUSED, 10)


def test_a_worker_whose_last_look_is_long_ago_looks_itself(session: Session, database: str):
    look_once(session)
    make_older(database, 3600)
    with health_of(CROWDED, session) as health:
        assert health().level is PaceLevel.PAUSED


def test_looks_go_on_while_a_partition_takes_long(session: Session):
    with health_of(QUICK, session) as health:
        health()
        looks: set[datetime | None] = set()
        assert wait_until(lambda: looks.add(last_look(session)) or len(looks) >= 4, 20)


def test_looks_go_on_while_a_refit_takes_long_and_end_with_it(
    session: Session, database: str, tmp_path: Path
):
    settings = QUICK.model_copy(update={"database_url": database, "home": tmp_path})
    with open_night(settings, workload=Workload.BACKFILL, run_id="r") as wiring:
        wiring.ports.control.conditions(Workload.NIGHTLY)
        assert not lookers()
        wiring.ports.control.conditions(Workload.BACKFILL)
        looks: set[datetime | None] = set()
        assert wait_until(lambda: looks.add(last_look(session)) or len(looks) >= 4, 20)
    assert wait_until(lambda: not lookers(), 30)


def test_who_finds_it_done_does_not_look_again(session: Session):
    look_once(session)
    with health_of(CALM, session) as health:
        before = last_look(session)
        assert health.look() is False
        assert last_look(session) == before


def test_looks_end_with_the_worker_that_forgot_to_close(session: Session):
    health = PaceHealth(QUICK, session)
    health()
    assert lookers()
    del health
    gc.collect()
    assert wait_until(lambda: not lookers(), 10)


def test_a_database_that_is_away_does_not_end_the_looks(session: Session, database: str):
    gone = Session("postgresql://nobody@127.0.0.1:1/nothing", Workload.BACKFILL, CALM)
    assert PaceHealth(CALM, gone).look() is False


def test_what_was_read_is_kept_for_a_moment(session: Session, database: str):
    with health_of(CALM, session) as health:
        first = health.state()
        make_older(database, 1)
        assert health.state() is first
        time.sleep(0.3)
        assert health.state() is not first


def test_admission_of_a_worker_is_told_the_pace(database: str, tmp_path: Path):
    settings = Settings(
        database_url=database,
        home=tmp_path,
        pace_thresholds="connection_use=0.0001/0.0002/0.0003",
    )
    with open_wiring(settings, workload=Workload.BACKFILL, run_id="r") as wiring:
        pace = wiring.ports.control.conditions(Workload.BACKFILL).pace
        nightly = wiring.ports.control.conditions(Workload.NIGHTLY).pace
    assert pace.level is PaceLevel.PAUSED
    assert pace.reason.startswith("connection_use is ")
    assert nightly.level is PaceLevel.FULL
    assert wait_until(lambda: not lookers(), 30)
