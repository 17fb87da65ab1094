"""A window that Spark's executors read is the one that this process reads."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from forecast_backfill.core.errors import WarehouseRefused
from forecast_backfill.core.partition import DateRange
from forecast_backfill.core.states import Workload
from forecast_backfill.core.stored_in import in_lakehouse
from forecast_backfill.engines.spark_windows import split
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.windows import PostgresDemand, read_units, shared_snapshot
from forecast_backfill.wiring.batch import OpenSpark
from forecast_backfill.wiring.night import open_night
from forecast_backfill.wiring.partition import open_session
from forecast_backfill.wiring.window import SparkDemand
from forecast_backfill_tests.app.campaigns import (
    FIRST,
    good_lines,
    land_campaign,
    run_campaign,
    settings_for,
)
from forecast_backfill_tests.landing.hand_made import land
from forecast_backfill_tests.spark.batches import PARTITIONS
from forecast_backfill_tests.spark.servers import ConnectServer

WINDOW = DateRange(start=FIRST, end=FIRST + timedelta(days=5))
EMPTY, STALE = PARTITIONS[2], PARTITIONS[5]


@pytest.fixture
def stored(connect: ConnectServer, database: str, tmp_path: Path) -> Settings:
    """Nine partitions of ten, one without a row and one whose newer delivery was refused."""
    settings = settings_for(database, tmp_path, spark_master=connect.master, fit_slots=2)
    land_campaign(tmp_path, PARTITIONS)
    land(tmp_path / "landing", EMPTY, [])
    run_campaign(settings, PARTITIONS[:-1])
    land(tmp_path / "landing", STALE, [{"store_id": "nowhere"}])
    run_campaign(settings, [STALE])
    return settings


@pytest.fixture
def session(stored: Settings) -> Iterator[Session]:
    """A session on what is stored."""
    with open_session(stored, Workload.BACKFILL) as session:
        yield session


def test_a_window_that_executors_read_is_the_same(
    connect: ConnectServer, connected: OpenSpark, stored: Settings, session: Session
) -> None:
    large = stored.model_copy(update={"spark_window_partitions": 10})
    before = len(connect.stages())
    found = SparkDemand(session, None, large, connected).read(WINDOW)
    assert found == PostgresDemand(session).read(WINDOW)
    assert [each.partition for each in found] == list(PARTITIONS[:-1])
    assert [dict(each.units) for each in found[:3]] == [{"DELI": 4, "SOUP": 4}] * 2 + [{}]
    assert connect.stages()[0]["numTasks"] == 2
    assert len(connect.stages()) == before + 1


def test_a_small_window_is_read_without_spark(stored: Settings, session: Session) -> None:
    small = stored.model_copy(
        update={"spark_window_partitions": 11, "spark_master": "sc://nowhere.invalid"}
    )
    assert len(SparkDemand(session, None, small).read(WINDOW)) == 9


def test_what_an_executor_refuses_comes_back_with_its_words(
    connected: OpenSpark, stored: Settings, session: Session
) -> None:
    with psycopg.connect(str(stored.database_url)) as connection:
        connection.execute(
            "UPDATE forecast_backfill.partition_ledger SET output_code_version = %s"
            " WHERE date = %s AND region = %s",
            (in_lakehouse("1"), PARTITIONS[4].date, PARTITIONS[4].region),
        )
    large = stored.model_copy(update={"spark_window_partitions": 1})
    with pytest.raises(WarehouseRefused, match="rows of it are in the lakehouse still") as refused:
        SparkDemand(session, None, large, connected).read(WINDOW)
    assert refused.value.partition == PARTITIONS[4]


def test_all_parts_of_a_window_are_of_one_moment(
    stored: Settings, session: Session, tmp_path: Path
) -> None:
    with open_session(stored, Workload.BACKFILL) as other, shared_snapshot(session) as shared:
        name, stay_awake = shared
        before = read_units(other, WINDOW, snapshot=name)
        last = PARTITIONS[-1]
        land(tmp_path / "landing", last, good_lines(last))
        run_campaign(stored, [last])
        stay_awake()
        assert read_units(other, WINDOW, snapshot=name) == before
        assert len(read_units(other, WINDOW)) == len(before) + 1


def test_the_night_reads_by_spark_where_the_setting_says_so(stored: Settings) -> None:
    with open_night(stored, workload=Workload.NIGHTLY, run_id="5f0c") as wiring:
        assert type(wiring.ports.demand) is PostgresDemand
    large = stored.model_copy(update={"spark_window_partitions": 1})
    with open_night(large, workload=Workload.NIGHTLY, run_id="5f0c") as wiring:
        assert isinstance(wiring.ports.demand, SparkDemand)


def test_a_window_is_split_into_ranges_that_leave_no_date_out() -> None:
    days = [FIRST + timedelta(days=day) for day in range(6)]
    assert [(each.start, each.end) for each in split(WINDOW, 2)] == [
        (days[0], days[2]),
        (days[2], days[5]),
    ]
    assert len(split(WINDOW, 9)) == 5
    assert split(WINDOW, 1) == (WINDOW,)
