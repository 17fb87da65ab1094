"""A large partition by attach and detach: built beside the old leaf, swapped in one short moment.

What readers notice: a statement that begins while the leaves are swapped waits for the commit; a
transaction whose snapshot is older finds the partition empty. Hence only where that was accepted.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import psycopg
import pyarrow as pa
from psycopg import sql

from forecast_backfill.core.errors import PartitionLeased
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.version import Version
from forecast_backfill.warehouse.copy_rows import copy_rows
from forecast_backfill.warehouse.leaf_layout import (
    add_key,
    attach_leaf,
    create_leaf,
    date_name,
    ensure_date,
    leaf_name,
    lock_date,
)
from forecast_backfill.warehouse.statements import statements

Connection = psycopg.Connection[Any]
_LOCK_TIMEOUT = "200ms"
"""How long readers of the date may queue behind a swap that has to wait for older ones."""
_TRIES = 50
_PAUSE_SECONDS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltLeaf:
    """A leaf that waits beside the old one; `replaced_rows` are those of the old one."""

    name: str
    has_old: bool
    replaced_rows: int


def build_leaf(
    connection: Connection, partition: Partition, rows: pa.Table, version: Version, chunk_rows: int
) -> BuiltLeaf:
    """Build the new leaf of the partition; readers see nothing of it.

    The date is locked only afterwards: leaves of one date are built side by side, and whoever will
    swap has no lock yet that another swap waits for.
    """
    name, old = f"{leaf_name(partition)}_next", leaf_name(partition)
    create_leaf(connection, partition, name)
    if rows.num_rows:
        copy_rows(connection, partition, rows, version, table=f'"{name}"', chunk_rows=chunk_rows)
    add_key(connection, name, f"{name}_key")
    connection.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(name)))
    lock_date(connection, partition)
    ensure_date(connection, partition)
    has_old = bool(statements().leaf_exists(connection, name=old)["is_there"])
    replaced = _count(connection, old) if has_old else 0
    return BuiltLeaf(name=name, has_old=has_old, replaced_rows=replaced)


def swap_leaf(connection: Connection, partition: Partition, built: BuiltLeaf) -> None:
    """Put the built leaf in the place of the old one; the last thing before the commit.

    Raises PartitionLeased where readers of the date never let it through.
    """
    _lock_readers_out(connection, partition)
    leaf, new = sql.Identifier(leaf_name(partition)), sql.Identifier(built.name)
    if built.has_old:
        detach = sql.SQL("ALTER TABLE {} DETACH PARTITION {}")
        connection.execute(detach.format(sql.Identifier(date_name(partition)), leaf))
        connection.execute(sql.SQL("DROP TABLE {}").format(leaf))
    connection.execute(sql.SQL("ALTER TABLE {} RENAME TO {}").format(new, leaf))
    connection.execute(
        sql.SQL("ALTER TABLE {} RENAME CONSTRAINT {} TO {}").format(
            leaf,
            sql.Identifier(f"{built.name}_key"),
            sql.Identifier(f"{leaf_name(partition)}_key"),
        )
    )
    attach_leaf(connection, partition)


def fingerprint_built(
    connection: Connection, built: BuiltLeaf, parameters: dict[str, Any]
) -> dict[str, Any]:
    """The fingerprint of the built leaf, by the statement that reads a partition of the target."""
    text: str = statements().fingerprint_partition.sql
    found = connection.execute(
        text.replace("daily_demand", f'"{built.name}"').encode(), parameters
    ).fetchone()
    assert found is not None
    return found


def _lock_readers_out(connection: Connection, partition: Partition) -> None:
    """Take the date's table for ourselves, in short tries: who comes meanwhile must not queue."""
    patience = statements().leaf_lock_timeout(connection)["value"]
    lock = sql.SQL("LOCK TABLE ONLY {} IN ACCESS EXCLUSIVE MODE").format(
        sql.Identifier(date_name(partition))
    )
    for _ in range(_TRIES):
        try:
            with connection.transaction():
                statements().leaf_set_lock_timeout(connection, value=_LOCK_TIMEOUT)
                connection.execute(lock)
            statements().leaf_set_lock_timeout(connection, value=patience)
            return
        except psycopg.errors.LockNotAvailable:
            time.sleep(_PAUSE_SECONDS)
    raise PartitionLeased(
        "the leaf could not be swapped",
        why=f"readers of {partition.date} held their locks through {_TRIES} tries",
        next_command="nothing, it is tried again; end what reads the date in one long transaction",
        partition=partition,
    )


def _count(connection: Connection, name: str) -> int:
    row = connection.execute(
        sql.SQL("SELECT count(*) AS rows FROM {}").format(sql.Identifier(name))
    ).fetchone()
    assert row is not None
    return int(row["rows"])
