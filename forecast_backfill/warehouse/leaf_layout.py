"""The target table with one leaf a partition: by list of dates, and below each by list of regions.

Two levels, so that a swap locks the table of its date only, and readers of other dates go on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg import sql

from forecast_backfill.core.errors import SettingRefused
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.strategy import Layout
from forecast_backfill.warehouse.fences import key_of
from forecast_backfill.warehouse.grants import give, grants_of
from forecast_backfill.warehouse.statements import statements

Connection = psycopg.Connection[Any]
TARGET = sql.Identifier("daily_demand")
KEY = sql.SQL("(date, region, store_id, product_id)")


def find_layout(connection: Connection) -> Layout:
    """How the table is laid out; any other partitioning than ours is written as a plain table."""
    found = statements().leaf_table(connection)
    return Layout.LEAVES if found["partition_key"] == "LIST (date)" else Layout.PLAIN


def leaf_name(partition: Partition) -> str:
    """The leaf of a partition."""
    return f"{date_name(partition)}_{partition.region}"


def date_name(partition: Partition) -> str:
    """The table of a date, which holds its leaves."""
    return f"daily_demand_{partition.date:%Y%m%d}"


def make_leaves(connection: Connection) -> None:
    """Give an empty table the layout; nothing where it has it.

    Views over it are made again, and both keep what was granted. Raises SettingRefused where it
    holds rows, and where something depends on such a view: neither is moved in passing.
    """
    with connection.transaction():
        connection.execute("LOCK TABLE daily_demand IN ACCESS EXCLUSIVE MODE")
        if find_layout(connection) is Layout.LEAVES:
            return
        if statements().leaf_has_rows(connection)["has_rows"]:
            raise SettingRefused(
                "the setting FORECAST_BACKFILL_TABLE_LAYOUT=leaves was refused",
                why="daily_demand is a plain table and holds rows already",
                next_command="unset FORECAST_BACKFILL_TABLE_LAYOUT, or set it before the first "
                "write into a new database",
            )
        grants = grants_of(connection, TARGET)
        views = [
            (view, grants_of(connection, _name_of(view)))
            for view in statements().leaf_views(connection)
        ]
        for view, _ in views:
            _drop_view(connection, view)
        statements().leaf_make(connection)
        give(connection, TARGET, grants)
        for view, granted in views:
            _create_view(connection, view)
            give(connection, _name_of(view), granted)


def ensure_leaf(connection: Connection, partition: Partition) -> None:
    """Make the leaf of a partition that has none, without a lock that readers wait for."""
    name = leaf_name(partition)
    if _exists(connection, name):
        return
    lock_date(connection, partition)
    if _exists(connection, name):
        return
    ensure_date(connection, partition)
    create_leaf(connection, partition, name)
    add_key(connection, name, f"{name}_key")
    attach_leaf(connection, partition)


def lock_date(connection: Connection, partition: Partition) -> None:
    """Wait until nobody else changes the leaves of the date, and keep others out until the end."""
    key = key_of(f"leaves {partition.date}")
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (key,))


def ensure_date(connection: Connection, partition: Partition) -> None:
    """Make the table of the date, if there is none. The caller has locked the date."""
    name = date_name(partition)
    if _exists(connection, name):
        return
    table, day = sql.Identifier(name), sql.Literal(partition.date.isoformat())
    connection.execute(
        sql.SQL(
            "CREATE TABLE {} (LIKE daily_demand INCLUDING DEFAULTS INCLUDING CONSTRAINTS)"
            " PARTITION BY LIST (region)"
        ).format(table)
    )
    add_key(connection, name, f"{name}_key")
    connection.execute(
        sql.SQL("ALTER TABLE {} ATTACH PARTITION {} FOR VALUES IN ({})").format(TARGET, table, day)
    )


def create_leaf(connection: Connection, partition: Partition, name: str) -> None:
    """A table like the target that can hold the rows of the partition and no other.

    The check spares the scan with which PostgreSQL would prove that when it is attached.
    """
    connection.execute(
        sql.SQL(
            "CREATE TABLE {} (LIKE daily_demand INCLUDING DEFAULTS INCLUDING CONSTRAINTS,"
            " CONSTRAINT leaf_holds_its_partition CHECK ("
            " date IS NOT NULL AND date = {} AND region IS NOT NULL AND region = {}))"
        ).format(
            sql.Identifier(name),
            sql.Literal(partition.date.isoformat()) + sql.SQL("::date"),
            sql.Literal(partition.region),
        )
    )


def add_key(connection: Connection, table: str, name: str) -> None:
    """The primary key, which the target's own takes in when the table is attached."""
    connection.execute(
        sql.SQL("ALTER TABLE {} ADD CONSTRAINT {} PRIMARY KEY {}").format(
            sql.Identifier(table), sql.Identifier(name), KEY
        )
    )


def attach_leaf(connection: Connection, partition: Partition) -> None:
    """Make the leaf a part of its date's table."""
    connection.execute(
        sql.SQL("ALTER TABLE {} ATTACH PARTITION {} FOR VALUES IN ({})").format(
            sql.Identifier(date_name(partition)),
            sql.Identifier(leaf_name(partition)),
            sql.Literal(partition.region),
        )
    )


def _exists(connection: Connection, name: str) -> bool:
    return bool(statements().leaf_exists(connection, name=name)["is_there"])


def _name_of(view: Mapping[str, Any]) -> sql.Identifier:
    return sql.Identifier(view["schema"], view["name"])


def _drop_view(connection: Connection, view: Mapping[str, Any]) -> None:
    try:
        connection.execute(sql.SQL("DROP VIEW {}").format(_name_of(view)))
    except psycopg.errors.DependentObjectsStillExist as error:
        raise SettingRefused(
            "the setting FORECAST_BACKFILL_TABLE_LAYOUT=leaves was refused",
            why=" ".join(str(error).split()),
            next_command="drop what depends on it, and make it anew after the first write",
        ) from error


def _create_view(connection: Connection, view: Mapping[str, Any]) -> None:
    name = _name_of(view)
    options, definition = sql.SQL(view["options"]), sql.SQL(view["definition"])
    connection.execute(sql.SQL("CREATE VIEW {} {} AS {}").format(name, options, definition))
    connection.execute(
        sql.SQL("ALTER VIEW {} OWNER TO {}").format(name, sql.Identifier(view["owner"]))
    )
    if view["comment"] is not None:
        connection.execute(
            sql.SQL("COMMENT ON VIEW {} IS {}").format(name, sql.Literal(view["comment"]))
        )
