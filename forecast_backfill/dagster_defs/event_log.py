"""Dagster's event log, able to take the events of one partition in one transaction."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from dagster import AssetKey, DagsterEventType, EventLogEntry
from dagster._core.definitions.asset_checks.asset_check_evaluation import (
    AssetCheckEvaluationTargetMaterializationData,
)
from dagster._core.storage.event_log.migration import ASSET_KEY_INDEX_COLS
from dagster._core.storage.event_log.schema import (
    AssetCheckExecutionsTable,
    AssetKeyTable,
    SqlEventLogStorageTable,
)
from dagster_postgres import PostgresEventLogStorage
from sqlalchemy import bindparam
from sqlalchemy.dialects import postgresql
from sqlalchemy.engine import Connection

from forecast_backfill.dagster_defs.pinged_storage import Pinged

Target = AssetCheckEvaluationTargetMaterializationData
Materialized = dict[tuple[AssetKey, str | None], Target]
"""The latest materialization of each partition of an asset, as a check points at it."""

# Made once: Dagster's own statements are compiled anew for each event.
_INSERT = SqlEventLogStorageTable.insert().returning(SqlEventLogStorageTable.c.id)
_LAST_COLUMNS = ("last_materialization", "last_run_id", "last_materialization_timestamp")
_ASSET = postgresql.insert(AssetKeyTable)
_UPSERT = _ASSET.on_conflict_do_update(
    index_elements=[AssetKeyTable.c.asset_key],
    set_={name: _ASSET.excluded[name] for name in _LAST_COLUMNS},
)
# Dagster can hold one evaluation without a run for each check of a partition; its event stays.
_CHECKS = AssetCheckExecutionsTable.c
_FORGET = AssetCheckExecutionsTable.delete().where(
    _CHECKS.run_id == "",
    *(_CHECKS[name] == bindparam(name) for name in ("asset_key", "check_name", "partition")),
)


class PartitionEventLog(Pinged, PostgresEventLogStorage):
    """Stores an event as Dagster does, and those within `one_transaction` together or not at all.

    Dagster stores an event by half a dozen statements, most of them with a commit and a ping of
    their own and one on a connection made for it: 20 ms for the three events of a partition.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._local = threading.local()
        self._tables: set[str] = set()
        super().__init__(*args, **kwargs)

    @contextmanager
    def one_transaction(self) -> Iterator[Materialized]:
        """Commit at its end what this thread stores in the block; what it materialized so far."""
        with super()._connect() as plain:
            connection = plain.execution_options(isolation_level="READ COMMITTED")
            with connection.begin():
                self._local.connection, self._local.materialized = connection, {}
                try:
                    yield self._local.materialized
                finally:
                    del self._local.connection, self._local.materialized

    def store_event(self, event: EventLogEntry) -> None:
        """Store one event."""
        kind = event.dagster_event_type
        if not self._is_together() or kind not in _TOGETHER:
            super().store_event(event)
            return
        # Without the NOTIFY, to which only older versions of Dagster listened.
        connection: Connection = self._local.connection
        event_id: int = connection.execute(_INSERT, self._event_to_row(event)).scalar_one()
        if kind is DagsterEventType.ASSET_CHECK_EVALUATION:
            if not event.run_id:
                connection.execute(_FORGET, _check_of(event))
            self.store_asset_check_event(event, event_id)
            return
        self._store_asset_event_tags(connection, [event], [event_id])
        self._store_asset_event(connection, event, event_id)
        told = event.get_dagster_event()
        assert told.asset_key is not None, "a materialization names its asset"
        self._local.materialized[told.asset_key, told.partition] = Target(
            storage_id=event_id, run_id=event.run_id, timestamp=event.timestamp
        )

    def has_table(self, table_name: str) -> bool:
        """Whether the table exists. Dagster asks before each materialization; none is dropped."""
        if table_name not in self._tables and super().has_table(table_name):
            self._tables.add(table_name)
        return table_name in self._tables

    def _store_asset_event(self, conn: Connection, event: EventLogEntry, event_id: int) -> None:
        values = self._get_asset_entry_values(
            event, event_id, self.has_secondary_index(ASSET_KEY_INDEX_COLS)
        )
        asset_key = event.get_dagster_event().asset_key
        if asset_key is None or set(values) != set(_LAST_COLUMNS):
            super()._store_asset_event(conn, event, event_id)
            return
        conn.execute(_UPSERT, {"asset_key": asset_key.to_string(), **values})

    def _is_together(self) -> bool:
        return hasattr(self._local, "connection")

    def _connect(self) -> AbstractContextManager[Connection]:
        return nullcontext(self._local.connection) if self._is_together() else super()._connect()


def _check_of(event: EventLogEntry) -> dict[str, str | None]:
    evaluation = event.get_dagster_event().asset_check_evaluation_data
    return {
        "asset_key": evaluation.asset_key.to_string(),
        "check_name": evaluation.check_name,
        "partition": evaluation.partition,
    }


_TOGETHER = (DagsterEventType.ASSET_MATERIALIZATION, DagsterEventType.ASSET_CHECK_EVALUATION)
