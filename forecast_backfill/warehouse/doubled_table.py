"""What the catalogue says of a table that may hold rows twice: what each column is for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

from forecast_backfill.core.errors import TableRefused
from forecast_backfill.warehouse.statements import statements

WRITER_COLUMNS = ("run_id", "batch_id", "load_id", "written_by", "loaded_by")
TIME_COLUMNS = ("written_at", "loaded_at", "inserted_at", "ingested_at", "created_at", "updated_at")
"""Columns that say who wrote a row, and when. They are not compared."""

EXACT_TYPES = ("int2", "int4", "int8", "numeric")
PARTITION_COLUMNS = ("date", "region")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The table and columns that were asked for; `partition_by` None: date and region of the key.

    `ignored` columns may differ between copies of a row.
    """

    table: str
    key: tuple[str, ...]
    partition_by: tuple[str, ...] | None = None
    version: str | None = None
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DoubledTable:
    """A table, taken apart by what its columns are for.

    `content` is compared between copies; `exact` columns are summed; `types` are SQL types.
    """

    oid: int
    schema: str
    name: str
    places: tuple[str, ...]
    key: tuple[str, ...]
    version: str | None
    content: tuple[str, ...]
    exact: tuple[str, ...]
    whole: tuple[str, ...]
    writer: str | None
    written: str | None
    types: dict[str, str]

    @property
    def columns(self) -> tuple[str, ...]:
        """By which rows are copies of each other: those of the partition, then of the key."""
        return (*self.places, *(name for name in self.key if name not in self.places))


def describe_table(connection: psycopg.Connection[Any], asked: Asked) -> DoubledTable:
    """Look the table up.

    Raises TableRefused where it is no table, or lacks a column that was asked for.
    """
    found = _find(connection, asked)
    rows = list(statements().describe_columns(connection, table=found["oid"]))
    names = tuple(row["name"] for row in rows)
    chosen = asked.partition_by
    places = (
        tuple(name for name in PARTITION_COLUMNS if name in asked.key) if chosen is None else chosen
    )
    version = () if asked.version is None else (asked.version,)
    _refuse_unknown(asked, names, (*asked.key, *places, *version, *asked.ignored))
    made = {row["name"] for row in rows if row["is_made"]}
    telling = {*WRITER_COLUMNS, *TIME_COLUMNS}
    apart = {*asked.key, *places, *version, *asked.ignored, *made, *telling}
    return DoubledTable(
        oid=found["oid"],
        schema=found["schema"],
        name=found["name"],
        places=places,
        key=asked.key,
        version=asked.version,
        content=tuple(name for name in names if name not in apart),
        exact=tuple(row["name"] for row in rows if row["type"] in EXACT_TYPES),
        whole=names,
        writer=next((name for name in WRITER_COLUMNS if name in names), None),
        written=next((name for name in TIME_COLUMNS if name in names), None),
        types={row["name"]: row["full_type"] for row in rows},
    )


def table_refused(table: str, why: str, next_command: str | None = None) -> TableRefused:
    """The table cannot be worked on, and why."""
    return TableRefused(
        f"the table {table} cannot be worked on",
        why=why,
        next_command=next_command or "forecast-backfill diagnose duplicates SCHEMA.TABLE --key …",
    )


def _find(connection: psycopg.Connection[Any], asked: Asked) -> dict[str, Any]:
    *schema, name = asked.table.split(".")
    found = None
    if len(schema) <= 1:
        found = statements().find_table(connection, schema=schema[0] if schema else None, name=name)
    if found is None:
        try:
            found = statements().find_table_as_written(connection, table=asked.table)
        except (psycopg.errors.InvalidName, psycopg.errors.SyntaxError):
            found = None
    if found is None:
        raise table_refused(asked.table, "there is no such table, or this role may not see it")
    if found["kind"] not in ("r", "p"):
        raise table_refused(asked.table, "it is a view or another relation without rows of its own")
    return found


def _refuse_unknown(asked: Asked, names: Sequence[str], wanted: Sequence[str]) -> None:
    unknown = [name for name in wanted if name not in names]
    if unknown:
        raise table_refused(
            asked.table, f"it has no column {unknown[0]}; it has {', '.join(names)}"
        )
