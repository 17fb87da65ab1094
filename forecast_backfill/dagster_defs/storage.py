"""Dagster's storage in our PostgreSQL: the one that is set, else the embedded one, started here."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from dagster import Field
from dagster._config.config_schema import UserConfigSchema
from dagster._serdes import ConfigurableClassData
from dagster_postgres import DagsterPostgresStorage
from dagster_postgres.utils import create_pg_engine

from forecast_backfill.dagster_defs.event_log import PartitionEventLog
from forecast_backfill.dagster_defs.pinged_storage import PingedRunStorage, PingedScheduleStorage
from forecast_backfill.settings import load_settings
from forecast_backfill.warehouse.connect import connect_plainly, resolve_database_url
from forecast_backfill.warehouse.lost_paths import with_patience
from forecast_backfill.warehouse.migrate import migrate

POOL_RECYCLE_SECONDS = 3600
DAGSTER_TABLES = ("runs", "instance_info", "event_logs", "jobs")
"""By these Dagster's three storages judge whether they have to create theirs."""

CURSOR_OFFSET_VARIABLE = "ASSET_BACKFILL_CURSOR_OFFSET"
CURSOR_OFFSET = "200"
"""A backfill reads materializations from the highest number on that it saw. An event with a lower
one, not yet committed then, would count as missing for ever; so it reads the last ones again."""

RETRY_VARIABLE = "DAGSTER_BACKFILL_RETRY_DEFINITION_CHANGED_ERROR"
"""Without it a backfill that is looked at while the code server is away finds its asset gone, fails
and cancels what it has queued; with it, it waits until the server is back."""


class SharedPostgresStorage(DagsterPostgresStorage):
    """Runs, events and schedules in schema `public` of the database that the warehouse uses.

    Every Dagster process builds one at its start, so the first of them starts the embedded server
    and brings our own schema up to date. `dagster.yaml` needs no URL and holds no secret.
    """

    @classmethod
    def config_type(cls) -> UserConfigSchema:
        """Nothing is configured here but what dagster-postgres needs to know."""
        return {"should_autocreate_tables": Field(bool, is_required=False, default_value=True)}

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]
    ) -> SharedPostgresStorage:
        """Find or start the database, migrate it, and connect."""
        url = with_patience(resolve_database_url(load_settings()))
        migrate(url)
        os.environ.setdefault(CURSOR_OFFSET_VARIABLE, CURSOR_OFFSET)
        os.environ.setdefault(RETRY_VARIABLE, "1")
        storage = cls(
            postgres_url=url,
            # Dagster's own look at each of its tables takes six connections.
            should_autocreate_tables=config_value["should_autocreate_tables"]
            and not _has_tables(url),
            inst_data=inst_data,
        )
        storage._event_log_storage = PartitionEventLog(url, should_autocreate_tables=False)
        storage._run_storage = PingedRunStorage(url, should_autocreate_tables=False)
        storage._schedule_storage = PingedScheduleStorage(url, should_autocreate_tables=False)
        storage.keep_connections()
        return storage

    def keep_connections(self) -> None:
        """Reuse connections, as Dagster's webserver does; its other processes do not of themselves.

        A connection for each event made the events of a partition cost 92 ms instead of 33. The
        ping before each use lets a pool survive a restart of the server.
        """
        engine = create_pg_engine(
            self.postgres_url,
            isolation_level="AUTOCOMMIT",
            pool_size=2,
            max_overflow=60,
            pool_pre_ping=True,
            pool_recycle=POOL_RECYCLE_SECONDS,
        )
        for part in (self._event_log_storage, self._run_storage, self._schedule_storage):
            part._engine = engine


def _has_tables(url: str) -> bool:
    with connect_plainly(url) as connection:
        found = connection.execute(
            "SELECT count(to_regclass('public.' || name)) FROM unnest(%s::text[]) AS name",
            (list(DAGSTER_TABLES),),
        ).fetchone()
    return found == (len(DAGSTER_TABLES),)
