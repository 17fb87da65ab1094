"""A batch over a real Spark Connect server: paused, killed, and left alone by its client."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg

from forecast_backfill.core.errors import EpochRaised
from forecast_backfill.core.outcome import Written
from forecast_backfill.core.partition import DateRange, partitions_of
from forecast_backfill.core.states import Workload
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.control import change_knobs
from forecast_backfill.warehouse.kill import kill
from forecast_backfill.wiring.batch import OpenSpark
from forecast_backfill.wiring.partition import open_session
from forecast_backfill_tests.app.campaigns import (
    FIRST,
    land_campaign,
    settings_for,
    stored_rows,
)
from forecast_backfill_tests.spark.batches import (
    PARTITIONS,
    Background,
    kill_client,
    landed,
    lease_held,
    run,
    slots_held,
    statuses,
    written,
)
from forecast_backfill_tests.spark.servers import ConnectServer, wait_until


def test_a_batch_is_one_job_in_the_pool_of_its_workload(
    connect: ConnectServer, database: str, tmp_path: Path
) -> None:
    settings = landed(database, tmp_path, connect.master)
    before = len(connect.stages())
    outcomes = run(settings)
    assert [type(each) for each in outcomes] == [Written] * len(PARTITIONS)
    assert len(stored_rows(database)) == 2 * len(PARTITIONS)
    stages = connect.stages()
    assert len(stages) == before + 1
    # Two tasks: the cap is two of the four slots.
    assert (stages[0]["schedulingPool"], stages[0]["numTasks"]) == ("backfill", 2)


def test_a_pause_gives_the_cores_back_and_a_resume_does_what_is_left(
    connect: ConnectServer, connected: OpenSpark, database: str, tmp_path: Path
) -> None:
    settings = landed(database, tmp_path, connect.master, slots=3)
    first, others = PARTITIONS[0], set(PARTITIONS[1:])
    with open_session(settings, Workload.BACKFILL) as session:
        with lease_held(database, first):
            batch = Background(settings, connected)
            batch.wait_until_running(first)
            wait_until(lambda: connect.active_tasks() > 0, "no task is seen at work", 10)
            turn(session, "paused")
        # The partition at work comes to its end; no other one begins.
        wait_until(lambda: statuses(database)[first] == "done", "it never ended")
        wait_until(lambda: connect.active_tasks() == 0, "a paused job holds its cores", 30)
        assert set(written(database)) == {first}
        assert connect.stages()[0]["status"] == "FAILED"
        assert batch.thread.is_alive()
        turn(session, "running")
    batch.thread.join(120)
    assert batch.error is None
    assert {each.partition for each in batch.outcomes} == {first, *others}
    assert written(database) == dict.fromkeys(PARTITIONS, 1)


def test_the_night_goes_through_beside_a_backfill_that_is_held_up(
    connect: ConnectServer, connected: OpenSpark, database: str, tmp_path: Path
) -> None:
    history, tonight = PARTITIONS[:8], PARTITIONS[8:]
    settings = landed(database, tmp_path, connect.master, slots=3, seam=tonight[0].date)
    with lease_held(database, history[0]):
        batch = Background(settings, connected, history)
        batch.wait_until_running(history[0])
        outcomes = run(settings, tonight, run_id="night", workload=Workload.NIGHTLY)
        assert [type(each) for each in outcomes] == [Written, Written]
        assert connect.stages()[0]["schedulingPool"] == "nightly"
        assert statuses(database)[history[0]] == "running"
        assert set(written(database)) == set(tonight)
    batch.thread.join(120)
    assert batch.error is None
    assert written(database) == dict.fromkeys(PARTITIONS, 1)


def test_what_the_server_still_runs_for_a_killed_client_cannot_commit_after_a_kill(
    connect: ConnectServer, connected: OpenSpark, database: str, tmp_path: Path
) -> None:
    settings = landed(database, tmp_path, connect.master, slots=3)
    held = PARTITIONS[2]
    with lease_held(database, held):
        kill_client(database, tmp_path, connect.master, at=held, slots=3)
        wait_until(lambda: connect.active_tasks() > 0, "its tasks ended with it", 10)
        with open_session(settings, Workload.BACKFILL) as session:
            kill(session, Workload.BACKFILL, reason="a test", changed_by="pytest")
        done = written(database)
    wait_until(lambda: connect.active_tasks() == 0, "tasks of the dead client go on", 60)
    assert written(database) == done
    assert held not in done
    assert len(stored_rows(database)) == 2 * len(done)
    assert slots_held(database) == 0

    # Launched again, in the new epoch, it does what was left, once.
    run(settings, open_spark=connected)
    assert written(database) == dict.fromkeys(PARTITIONS, 1)


def test_in_full_flow_a_pause_is_heard_within_two_seconds_and_a_kill_at_once(
    connect: ConnectServer, connected: OpenSpark, database: str, tmp_path: Path
) -> None:
    many = tuple(
        partitions_of(DateRange(start=FIRST, end=FIRST + timedelta(days=40)), ["R01", "R02"])
    )
    land_campaign(tmp_path, many)
    # One task after the other.
    settings = settings_for(
        database, tmp_path, engine="spark", spark_master=connect.master, slots=3
    )
    batch = Background(settings, connected, many)
    with open_session(settings, Workload.BACKFILL) as session:
        wait_until(lambda: written(database), "nothing was written")
        turn(session, "paused")
        paused_at = datetime.now(UTC)
        wait_until(lambda: connect.active_tasks() == 0, "a paused job holds its cores", 30)
        assert started_after(database, paused_at + timedelta(seconds=2)) == 0
        before = len(written(database))
        turn(session, "running")
        wait_until(lambda: len(written(database)) > before, "nothing goes on")
        kill(session, Workload.BACKFILL, reason="a test", changed_by="pytest")
    done = written(database)
    batch.thread.join(60)
    assert isinstance(batch.error, EpochRaised)
    assert written(database) == done
    assert before < len(done) < len(many)


def started_after(url: str, instant: datetime) -> int:
    """How many partitions began after it."""
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT count(*) FROM forecast_backfill.partition_event"
            " WHERE kind = 'started' AND at > %s",
            (instant,),
        ).fetchone()
    assert row is not None
    return int(row[0])


def turn(session: Session, intent: str) -> None:
    """Pause or resume backfill."""
    with session.transaction() as connection:
        change_knobs(
            connection,
            Workload.BACKFILL,
            "pause" if intent == "paused" else "resume",
            reason="a test",
            changed_by="pytest",
            intent=intent,
        )
