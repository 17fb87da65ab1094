"""A worker that was stopped in its commit goes on after a kill, and can write nothing any more."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import timedelta

import psycopg

from forecast_backfill.core.partition import DateRange, partitions_of
from forecast_backfill.core.states import Workload
from forecast_backfill.warehouse.kill import kill
from forecast_backfill.warehouse.leases import list_flights
from forecast_backfill_tests.app.campaigns import FIRST, land_campaign
from forecast_backfill_tests.dagster.station import SLOW
from forecast_backfill_tests.postgres.rows import open_session

PARTITIONS = list(partitions_of(DateRange(start=FIRST, end=FIRST + timedelta(days=2)), ["R01"]))
RUN = """
import sys
from datetime import timedelta
from pathlib import Path

from forecast_backfill.core.partition import DateRange, partitions_of
from forecast_backfill_tests.app.campaigns import FIRST, run_campaign, settings_for

dates = DateRange(start=FIRST, end=FIRST + timedelta(days=2))
run_campaign(settings_for(sys.argv[1], Path(sys.argv[2])), list(partitions_of(dates, ["R01"])))
"""
SLEEPS = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"


def test_a_worker_that_was_stopped_in_its_commit_writes_nothing_when_it_goes_on(
    database_url, tmp_path
):
    land_campaign(tmp_path, PARTITIONS)
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(SLOW)
        connection.execute("UPDATE forecast_backfill.slowness SET seconds = 30")
        worker = subprocess.Popen(
            [sys.executable, "-c", RUN, database_url, str(tmp_path)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        deadline = time.monotonic() + 60
        while connection.execute(SLEEPS).fetchone() != (1,):
            assert time.monotonic() < deadline and worker.poll() is None, (
                "the worker does not write"
            )
            time.sleep(0.05)
        os.kill(worker.pid, signal.SIGSTOP)
        try:
            with open_session(database_url) as oncall:
                killed = kill(oncall, Workload.BACKFILL, reason="test", changed_by="ana")
                assert killed.ended_commits == 1
                assert list_flights(oncall, Workload.BACKFILL) == ()
            connection.execute("UPDATE forecast_backfill.slowness SET seconds = 0")
        finally:
            os.kill(worker.pid, signal.SIGCONT)
        _, complained = worker.communicate(timeout=60)
        assert "backfill was killed" in complained
        rows = connection.execute("SELECT count(*) FROM forecast_backfill.daily_demand").fetchone()
        written = connection.execute(
            "SELECT count(*) FROM forecast_backfill.partition_event WHERE kind = 'written'"
        ).fetchone()
    assert (rows, written) == ((0,), (0,))
