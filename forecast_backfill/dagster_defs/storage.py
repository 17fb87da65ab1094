"""Dagster's storage in our PostgreSQL: the one that is set, else the embedded one, started here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dagster import Field
from dagster._config.config_schema import UserConfigSchema
from dagster._serdes import ConfigurableClassData
from dagster_postgres import DagsterPostgresStorage
from dagster_postgres.utils import create_pg_engine

from forecast_backfill.settings import load_settings
from forecast_backfill.warehouse.connect import resolve_database_url
from forecast_backfill.warehouse.migrate import migrate

POOL_RECYCLE_SECONDS = 3600


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
        url = resolve_database_url(load_settings())
        migrate(url)
        storage = cls(
            postgres_url=url,
            should_autocreate_tables=config_value["should_autocreate_tables"],
            inst_data=inst_data,
        )
        storage.keep_connections()
        return storage

    def keep_connections(self) -> None:
        """Reuse connections, as Dagster's webserver does; its other processes do not of themselves.

        A connection for each event made the events of a partition cost 92 ms instead of 33. The
        ping before each use lets a pool survive a restart of the server.
        """
        for part in (self._event_log_storage, self._run_storage, self._schedule_storage):
            part._engine = create_pg_engine(
                self.postgres_url,
                isolation_level="AUTOCOMMIT",
                pool_size=1,
                max_overflow=20,
                pool_pre_ping=True,
                pool_recycle=POOL_RECYCLE_SECONDS,
            )
