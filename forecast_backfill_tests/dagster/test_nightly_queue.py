"""How long nightly's oldest queued run waits, as Dagster's own storage has it."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from dagster import DagsterRun, DagsterRunStatus
from dagster._core.remote_origin import (
    RegisteredCodeLocationOrigin,
    RemoteJobOrigin,
    RemoteRepositoryOrigin,
)
from dagster._core.utils import make_new_run_id
from dagster_postgres import PostgresRunStorage

from forecast_backfill.core.signal import DEFAULT_THRESHOLDS, Measured
from forecast_backfill.dagster_defs.tags import WORKLOAD_TAG
from forecast_backfill.warehouse.signals.link import Link
from forecast_backfill.warehouse.signals.nightly_queue import NightlyQueueWait

ORIGIN = RemoteJobOrigin(
    repository_origin=RemoteRepositoryOrigin(
        code_location_origin=RegisteredCodeLocationOrigin("place"), repository_name="repository"
    ),
    job_name="night",
)


@pytest.fixture(params=["UTC", "America/New_York", "Asia/Tokyo"])
def runs(database: str, request: pytest.FixtureRequest) -> Iterator[PostgresRunStorage]:
    """Dagster's table of runs, in a database whose own time zone is another."""
    with psycopg.connect(database, autocommit=True) as connection:
        (name,) = connection.execute("SELECT current_database()").fetchone() or ("",)
        connection.execute(f"ALTER DATABASE {name} SET timezone = '{request.param}'".encode())
    storage = PostgresRunStorage(database, should_autocreate_tables=True)
    yield storage
    storage._engine.dispose()


def add(
    storage: PostgresRunStorage, database: str, *, workload: str, age: int, status: str
) -> None:
    run = DagsterRun(
        job_name="night",
        run_id=make_new_run_id(),
        tags={WORKLOAD_TAG: workload},
        status=DagsterRunStatus(status),
        remote_job_origin=ORIGIN,
    )
    storage.add_run(run)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            "UPDATE public.runs SET create_timestamp = create_timestamp - make_interval(secs => %s)"
            " WHERE run_id = %s",
            (age, run.run_id),
        )


def wait_of(database: str) -> float:
    link = Link(database, timeout_seconds=5)
    try:
        reading = NightlyQueueWait(link, DEFAULT_THRESHOLDS["nightly_queue_wait"]).look({}).reading
    finally:
        link.close()
    assert isinstance(reading, Measured)
    return reading.value


def test_the_oldest_queued_run_of_nightly_counts(runs: PostgresRunStorage, database: str):
    assert wait_of(database) == 0
    add(runs, database, workload="backfill", age=7200, status="QUEUED")
    add(runs, database, workload="nightly", age=3600, status="STARTED")
    assert wait_of(database) == 0
    add(runs, database, workload="nightly", age=45, status="QUEUED")
    add(runs, database, workload="nightly", age=5, status="QUEUED")
    assert 45 <= wait_of(database) < 75
