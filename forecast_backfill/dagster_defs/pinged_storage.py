"""Dagster's storages, whose kept connections are looked at before each use, in the webserver too.

The webserver has each storage make itself a pool of its own. After a restart of the database the
first page, or the first launch, of each pooled connection would end in an error.
"""

from __future__ import annotations

from typing import Any

from dagster_postgres import PostgresRunStorage, PostgresScheduleStorage
from sqlalchemy import Engine, event, exc


class Pinged:
    """In front of a storage of dagster-postgres."""

    _engine: Engine

    def optimize_for_webserver(self, **limits: int) -> None:
        """As Dagster does it, with a ping whenever a connection is taken from the pool."""
        super().optimize_for_webserver(**limits)  # type: ignore[misc]
        engine = self._engine

        def ping(connection: Any, record: object, proxy: object) -> None:
            try:
                engine.dialect.do_ping(connection)
            except engine.dialect.loaded_dbapi.Error as error:
                # The pool takes a new one.
                raise exc.DisconnectionError from error

        event.listen(engine, "checkout", ping)


class PingedRunStorage(Pinged, PostgresRunStorage):
    """Runs and backfills."""


class PingedScheduleStorage(Pinged, PostgresScheduleStorage):
    """Ticks of schedules and sensors."""
