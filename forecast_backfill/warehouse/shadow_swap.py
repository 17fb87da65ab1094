"""The name that readers go through: repointed to a shadow and back, and versions dropped."""

from __future__ import annotations

import time
from collections.abc import Callable

import psycopg
from psycopg import sql

from forecast_backfill.core.errors import ShadowRefused
from forecast_backfill.core.shadow import ShadowState
from forecast_backfill.core.shadow_check import require_complete, require_move
from forecast_backfill.ports.shadow import Blocked, By, Holder, Moved
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.grants import give_same
from forecast_backfill.warehouse.shadow_records import Connection, lock_shadow, move, note, read_due
from forecast_backfill.warehouse.shadow_rows import one_line
from forecast_backfill.warehouse.shadow_sql import (
    READERS,
    table_name,
    table_of,
    version_name,
)
from forecast_backfill.warehouse.statements import statements

LOCK_TIMEOUT = "300ms"
"""How long readers may queue behind one try: well within the second that they may wait."""


class PostgresVersions:
    """The version that readers read, and those beside it, over one session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def try_swap(self, shadow_id: int, by: By) -> Moved | Blocked:
        """Repoint the readers' name to the shadow, if it is free within the lock timeout."""

        def swap(connection: Connection) -> float:
            state, _ = lock_shadow(connection, shadow_id)
            require_move(shadow_id, state, ShadowState.SWAPPED)
            require_complete(shadow_id, read_due(connection, shadow_id))
            earlier: int | None = statements().shadow_adopted(connection)["shadow_id"]
            if earlier is not None:
                move(connection, earlier, ShadowState.RETIRED)
            move(connection, shadow_id, ShadowState.SWAPPED, earlier)
            note(connection, shadow_id, "swap", by, earlier=earlier)
            return _repoint(connection, shadow_id, earlier or 0)

        return self._try(swap, shadow_id)

    def try_revert(self, shadow_id: int, by: By) -> Moved | Blocked:
        """Repoint the readers' name to the earlier version, which was written all the time."""

        def revert(connection: Connection) -> float:
            state, earlier = lock_shadow(connection, shadow_id)
            require_move(shadow_id, state, ShadowState.REVERTED)
            move(connection, shadow_id, ShadowState.REVERTED)
            if earlier is not None:
                move(connection, earlier, ShadowState.ADOPTED)
            note(connection, shadow_id, "revert", by, earlier=earlier)
            return _repoint(connection, earlier or 0, shadow_id)

        return self._try(revert, shadow_id)

    def try_drop(self, shadow_id: int, by: By) -> Moved | Blocked:
        """Drop a shadow that is not read."""

        def drop(connection: Connection) -> float:
            state, _ = lock_shadow(connection, shadow_id, is_drop=True)
            require_move(shadow_id, state, ShadowState.DROPPED)
            began = time.monotonic()
            _drop_shadow(connection, shadow_id, by)
            return began

        return self._try(drop, shadow_id)

    def try_adopt(self, shadow_id: int, by: By) -> Moved | Blocked:
        """Drop the version before the shadow that is read; daily_demand itself only loses its name
        among the versions."""

        def adopt(connection: Connection) -> float:
            state, earlier = lock_shadow(connection, shadow_id)
            require_move(shadow_id, state, ShadowState.ADOPTED)
            began = time.monotonic()
            if earlier is None:
                _drop_view(connection, 0)
            else:
                lock_shadow(connection, earlier, is_drop=True)
                _drop_shadow(connection, earlier, by)
            move(connection, shadow_id, ShadowState.ADOPTED)
            note(connection, shadow_id, "drop", by, earlier=earlier)
            return began

        return self._try(adopt, shadow_id)

    def _try(self, step: Callable[[Connection], float], shadow_id: int) -> Moved | Blocked:
        """One transaction with a short lock timeout; a lock that is not to be had undoes it all."""
        with self._session.use() as connection:
            try:
                with connection.transaction():
                    statements().leaf_set_lock_timeout(connection, value=LOCK_TIMEOUT)
                    began = step(connection)
            except psycopg.errors.LockNotAvailable:
                return Blocked(holders=_holders(connection, shadow_id))
            return Moved(held_seconds=time.monotonic() - began)


def _repoint(connection: Connection, to: int, away_from: int) -> float:
    """Swap the names, as the last thing before the commit; when readers began to wait.

    Renamed, not made anew: what depends on the name's view goes on with the version it was made
    over, and no plan of a reader sees half of either.
    """
    incoming, outgoing = version_name(to), version_name(away_from)
    # Who may read the name may read it afterwards, and nobody else.
    give_same(connection, sql.Identifier(incoming), sql.Identifier(READERS))
    # Whoever reads the version under its own name is waited for before anybody has to wait for us.
    _rename(connection, incoming, f"{incoming}_incoming")
    began = time.monotonic()
    _rename(connection, READERS, outgoing)
    _rename(connection, f"{incoming}_incoming", READERS)
    return began


def _rename(connection: Connection, name: str, becomes: str) -> None:
    connection.execute(
        sql.SQL("ALTER VIEW {} RENAME TO {}").format(sql.Identifier(name), sql.Identifier(becomes))
    )


def _drop_shadow(connection: Connection, shadow_id: int, by: By) -> None:
    _drop_view(connection, shadow_id)
    connection.execute(sql.SQL("DROP TABLE {}").format(table_of(shadow_id)))
    statements().shadow_forget(connection, shadow_id=shadow_id)
    move(connection, shadow_id, ShadowState.DROPPED)
    note(connection, shadow_id, "drop", by)


def _drop_view(connection: Connection, version: int) -> None:
    name = version_name(version)
    try:
        connection.execute(sql.SQL("DROP VIEW {}").format(sql.Identifier(name)))
    except psycopg.errors.DependentObjectsStillExist as error:
        raise ShadowRefused(
            f"version {version} was not dropped",
            why=one_line(error),
            next_command=f"make what depends on {name} anew over {READERS}, then drop again",
        ) from error


def _holders(connection: Connection, shadow_id: int) -> tuple[Holder, ...]:
    views = [READERS, version_name(shadow_id), table_name(shadow_id)]
    return tuple(
        Holder(
            pid=row["pid"],
            user=row["usename"],
            name=row["application_name"],
            seconds=row["seconds"],
        )
        for row in statements().shadow_readers(connection, views=views)
    )
