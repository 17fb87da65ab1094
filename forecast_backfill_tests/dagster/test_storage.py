"""The classes that `dagster.yaml` names, as the daemon loads them."""

from __future__ import annotations

import subprocess
import sys

import pytest
import sqlalchemy
from dagster import DagsterInstance

from forecast_backfill.settings import load_settings
from forecast_backfill.warehouse.connect import connect_plainly, resolve_database_url
from forecast_backfill_tests.dagster.conftest import Site

HEAVY = "('pandas', 'pyarrow', 'pyspark', 'numpy')"

END_OTHERS = (
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


@pytest.mark.parametrize(
    "module", ["forecast_backfill.dagster_defs.storage", "forecast_backfill.dagster_defs.run_queue"]
)
def test_a_class_of_dagster_yaml_loads_without_pandas_arrow_and_spark(module: str) -> None:
    program = f"import sys, {module}; print([name for name in {HEAVY} if name in sys.modules])"
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"


def test_the_storage_of_dagster_yaml_starts_the_database_and_reuses_its_connection(
    site: Site,
) -> None:
    with DagsterInstance.get() as instance:
        pids = []
        for _ in range(3):
            with instance.event_log_storage._connect() as connection:
                pids.append(connection.scalar(sqlalchemy.text("SELECT pg_backend_pid()")))
        assert len(set(pids)) == 1


def test_dagsters_tables_and_ours_share_one_database(site: Site) -> None:
    query = "SELECT to_regclass('public.runs'), to_regclass('forecast_backfill.partition_ledger')"
    with (
        DagsterInstance.get() as instance,
        instance.event_log_storage._connect() as connection,
    ):
        found = connection.execute(sqlalchemy.text(query)).one()
    assert tuple(found) == ("runs", "forecast_backfill.partition_ledger")


def test_the_webserver_outlives_a_restart_of_the_database(site: Site) -> None:
    with DagsterInstance.get() as instance:
        instance.optimize_for_webserver(statement_timeout=5000, pool_recycle=3600, max_overflow=1)
        reads = (instance.get_runs_count, instance.get_backfills, instance.all_asset_keys)
        for read in (*reads, instance.all_instigator_state):
            read()
        with connect_plainly(resolve_database_url(load_settings())) as connection:
            connection.execute(END_OTHERS)
        assert instance.get_runs_count() == 0
        assert list(instance.get_backfills()) == []
        assert list(instance.all_asset_keys()) == []
        assert list(instance.all_instigator_state()) == []
