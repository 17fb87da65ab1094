"""A run that is cancelled in the middle of its SQL, by the signal that Dagster sends."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import psycopg

from forecast_backfill.settings import load_settings
from forecast_backfill.warehouse.connect import resolve_database_url
from forecast_backfill.warehouse.migrate import migrate
from forecast_backfill_tests.dagster.conftest import Site

KEY = "2026-03-04|R02"
SLOW = """
    CREATE FUNCTION forecast_backfill.slow() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_sleep(60); RETURN NULL; END $$;
    CREATE TRIGGER slow AFTER INSERT ON forecast_backfill.daily_demand
    FOR EACH STATEMENT EXECUTE FUNCTION forecast_backfill.slow()
"""
SLEEPS = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"


def test_a_cancelled_run_leaves_its_partition_failed_and_without_rows(site: Site) -> None:
    url = resolve_database_url(load_settings())
    migrate(url)
    command = [sys.executable, "-m", "dagster", "asset", "materialize", "--select", "daily_demand"]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(SLOW)
        run = subprocess.Popen(
            [*command, "-m", "forecast_backfill.definitions", "--partition", KEY],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 90
        while connection.execute(SLEEPS).fetchone() != (1,):
            assert time.monotonic() < deadline and run.poll() is None, "the run does not write"
            time.sleep(0.1)
        run.send_signal(signal.SIGINT)
        assert run.wait(timeout=50) != 0
        found = connection.execute(
            "SELECT status, output, reason FROM forecast_backfill.partition_ledger"
        ).fetchall()
        rows = connection.execute("SELECT count(*) FROM forecast_backfill.daily_demand").fetchone()
    assert found == [("failed", "absent", "stopped by DagsterExecutionInterruptedError")]
    assert rows == (0,)
