"""Which constraint refuses a row or a change beside good rows; all of it is taken back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

Row = tuple[str, dict[str, Any]]
"""A table and a row of it."""


def refusal_of(database: str, table: str, bad: dict[str, Any], *before: Row) -> str | None:
    """The constraint that keeps `bad` out of the table once the rows before it are in."""
    with _holding(database, before) as connection:
        with pytest.raises(psycopg.IntegrityError) as refused:
            _insert(connection, table, bad)
        return refused.value.diag.constraint_name


def refusal_of_change(database: str, statement: str, *before: Row) -> str | None:
    """The constraint that refuses the statement once the rows before it are in."""
    with _holding(database, before) as connection:
        with pytest.raises(psycopg.IntegrityError) as refused:
            connection.execute(statement.encode())
        return refused.value.diag.constraint_name


@contextmanager
def _holding(database: str, rows: tuple[Row, ...]) -> Iterator[psycopg.Connection[Any]]:
    options = "-c search_path=forecast_backfill"
    with psycopg.connect(database, options=options) as connection:
        connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
        for table, row in rows:
            _insert(connection, table, row)
        yield connection
        connection.rollback()


def _insert(connection: psycopg.Connection[Any], table: str, row: dict[str, Any]) -> None:
    marks = ", ".join(["%s"] * len(row))
    statement = f"INSERT INTO {table} ({', '.join(row)}) OVERRIDING SYSTEM VALUE VALUES ({marks})"
    connection.execute(statement.encode(), list(row.values()))
