"""A large delivery over a real Connect server: killed at work, and cut into whole stores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pyarrow as pa
import pytest

from forecast_backfill.core.errors import EpochRaised
from forecast_backfill.core.outcome import Written
from forecast_backfill.core.states import Workload
from forecast_backfill.engines.spark_watch import Group, run_watched
from forecast_backfill.engines.spread_lines import by_store
from forecast_backfill.warehouse.kill import kill
from forecast_backfill.wiring.batch import OpenSpark
from forecast_backfill.wiring.partition import open_session, open_wiring
from forecast_backfill.wiring.spread import SpreadEngine, SpreadSlots
from forecast_backfill_tests.app.campaigns import settings_for
from forecast_backfill_tests.spark.batches import (
    LARGE,
    Background,
    landed_large,
    lease_held,
    run,
    slots_held,
    statuses,
    written,
)
from forecast_backfill_tests.spark.servers import ConnectServer, wait_until


def test_a_kill_ends_a_spread_delivery_which_takes_nothing_with_it(
    connect: ConnectServer, connected: OpenSpark, database: str, tmp_path: Path
) -> None:
    settings = landed_large(database, tmp_path, connect.master)
    with lease_held(database, LARGE):
        batch = Background(settings, connected, [LARGE])
        batch.wait_until_running(LARGE)
        wait_until(lambda: len(connect.kept()) == 2, "its rows were never made")
        assert slots_held(database) >= 2
        with open_session(settings, Workload.BACKFILL) as session:
            kill(session, Workload.BACKFILL, reason="a test", changed_by="pytest")
        batch.thread.join(60)
    assert isinstance(batch.error, EpochRaised)
    assert written(database) == {}
    assert statuses(database) == {LARGE: "failed"}
    wait_until(lambda: slots_held(database) == 0, "a slot is held", 30)
    wait_until(lambda: connect.kept() == [], "its rows are kept", 30)


def test_a_session_that_ended_in_the_same_process_does_not_matter(
    connect: ConnectServer,
    connected: OpenSpark,
    database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = landed_large(database, tmp_path, connect.master)
    # What a session takes along when it stops.
    monkeypatch.delenv("SPARK_CONNECT_MODE_ENABLED", raising=False)
    (outcome,) = run(settings, [LARGE], open_spark=connected)
    assert isinstance(outcome, Written)


def test_work_that_is_looked_after_is_cancelled_as_soon_as_it_may_not_go_on(
    connect: ConnectServer, connected: OpenSpark
) -> None:
    def sleep(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import time

        time.sleep(120)
        yield from batches

    def look() -> None:
        if connect.active_tasks():
            raise EpochRaised("backfill was killed", why="a test", next_command="none")

    with connected() as session:
        frame = session.range(0, 2, 1, 2).mapInArrow(sleep, "id bigint")
        group = Group(session=session, name="watched", description="a sleep", is_connect=True)
        with pytest.raises(EpochRaised):
            run_watched(group, frame.collect, look)
        wait_until(lambda: connect.active_tasks() == 0, "its tasks go on", 10)


@pytest.mark.parametrize(("cores", "expected"), [(None, 3), (2, 2)])
def test_a_spread_delivery_takes_the_slots_that_are_free_and_as_many_tasks(
    cores: int | None, expected: int, database: str, tmp_path: Path
) -> None:
    settings = settings_for(database, tmp_path, engine="spark", spark_max_cores=cores)
    with (
        open_wiring(settings, workload=Workload.BACKFILL, run_id="one") as one,
        open_wiring(settings, workload=Workload.BACKFILL, run_id="other") as other,
    ):
        request, slots = one.request(), one.ports.slots
        engine = SpreadEngine(settings, nullcontext, request, one.ports)
        held = other.ports.slots.try_acquire(4)
        assert held is not None
        with held:
            taken = SpreadSlots(slots, settings, request, engine).try_acquire(4)
            assert taken is not None
            with taken as indices:
                assert (len(indices), engine.tasks) == (expected, expected)
        assert other.ports.slots.try_acquire(4, 4) is not None


@pytest.mark.parametrize("limit", [1, 3, 4, 100])
@pytest.mark.parametrize("width", [1, 2, 5, 50])
def test_lines_are_cut_into_whole_stores(limit: int, width: int) -> None:
    stores = ["a"] * 3 + ["b"] * 4 + ["c"] + ["d"] * 9 + ["e"] * 2
    table = pa.table({"store_id": stores, "line": range(len(stores))})
    tables = list(by_store(table.to_batches(max_chunksize=width), limit))
    assert pa.concat_tables(tables).combine_chunks() == table.combine_chunks()
    assert all(each.num_rows >= limit for each in tables[:-1])
    found = [store for each in tables for store in set(each.column("store_id").to_pylist())]
    assert sorted(found) == ["a", "b", "c", "d", "e"]
