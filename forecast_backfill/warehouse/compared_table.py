"""Another PostgreSQL table with the columns of `daily_demand`, opened for reading only."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from forecast_backfill.core.errors import DatabaseInterrupted, DatabaseUnavailable, UsageRefused
from forecast_backfill.core.fingerprint import CHECKSUM_COLUMNS
from forecast_backfill.warehouse.connect import connect_plainly, mask_password
from forecast_backfill.warehouse.digests import (
    DATE_TEXT,
    DigestedTable,
    PostgresSide,
    begin_snapshot,
)
from forecast_backfill.warehouse.statements import statements

KEY_COLUMNS = {"date", "region", "store_id", "product_id"}
READABLE_KINDS = ("r", "p", "v", "m", "f")
EXAMPLE = "--against postgresql://user@host/database.schema.table"
_TAIL = re.compile(r"^(?P<before>.*?)\.(?P<names>[^./?=&]+(?:\.[^./?=&]+)?)$")

# Whatever exact type a column has, the same value has the same text; a float has none. The lengths
# of common numbers are found by comparison, as in our own canonical_text: it is a fifth faster.
_MEASURED = "coalesce(length({0}) || ':' || {0}, '-')"
_TEXT = _MEASURED.format("{0}::text")
_INTEGER = (
    "CASE WHEN {0} < 0 THEN length({0}::text) || ':' || {0} WHEN {0} < 10 THEN '1:' || {0}"
    " WHEN {0} < 100 THEN '2:' || {0} WHEN {0} < 1000 THEN '3:' || {0}"
    " WHEN {0} < 10000 THEN '4:' || {0} WHEN {0} IS NULL THEN '-'"
    " ELSE length({0}::text) || ':' || {0} END"
)
_EXACT: dict[str, str] = {
    **dict.fromkeys(("text", "varchar", "bpchar"), _TEXT),
    **dict.fromkeys(("int2", "int4", "int8"), _INTEGER),
    "numeric": _MEASURED.format("trim_scale({0})::text"),
    "bool": "CASE WHEN {0} THEN '1:1' WHEN NOT {0} THEN '1:0' ELSE '-' END",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableAddress:
    """A table in a database; without a schema it is looked for where unqualified names are."""

    url: str
    schema: str | None
    name: str


def parse_table_address(target: str) -> TableAddress:
    """`URL.table`: the table, with or without its schema, after the database's name or at the end.

    Raises UsageRefused where it cannot be taken apart.
    """
    parts = urlsplit(target)
    in_path = parts.scheme.startswith("postgres") and _TAIL.match(parts.path)
    if in_path:
        # Put together by hand: urlunsplit drops the slashes of a URL without a host.
        options = f"?{parts.query}" if parts.query else ""
        url = f"{parts.scheme}://{parts.netloc}{in_path['before']}{options}"
        return _address(url, in_path["names"])
    at_end = _TAIL.match(target)
    if not parts.scheme.startswith("postgres") or at_end is None or not parts.query:
        raise UsageRefused(
            f"{mask_password(target)} names no table",
            why="a database's URL and a table are joined by a dot",
            next_command=f"forecast-backfill reconcile {EXAMPLE}",
        )
    return _address(at_end["before"], at_end["names"])


@contextmanager
def open_compared(target: str) -> Iterator[PostgresSide]:
    """The table at `URL.table`, as of one moment.

    Raises UsageRefused where it is no such table, has no exact values or may not be read whole,
    DatabaseUnavailable where its server does not answer, and DatabaseInterrupted where it stops to.
    """
    address = parse_table_address(target)
    with connect_to(address.url) as connection:
        try:
            with connection.transaction():
                begin_snapshot(connection)
                _refuse_other_encoding(connection, address)
                yield PostgresSide(connection, _digested(connection, address))
        except psycopg.errors.InsufficientPrivilege as error:
            raise _refused(address, " ".join(str(error).split())) from error
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            raise DatabaseInterrupted(
                "the comparison was interrupted",
                why=" ".join(str(error).split()),
                next_command="the same command again",
            ) from error


def _refuse_other_encoding(connection: psycopg.Connection[Any], address: TableAddress) -> None:
    # The hash is that of the bytes that the server stores.
    row = statements().prepare_comparison(connection)
    if row["server_encoding"] != "UTF8":
        raise _refused(
            address, f"its database stores text as {row['server_encoding']}, not as UTF8"
        )


def connect_to(url: str) -> psycopg.Connection[dict[str, Any]]:
    """An autocommit connection to a database that need not be ours.

    Raises DatabaseUnavailable where it does not answer.
    """
    try:
        return connect_plainly(url, row_factory=dict_row)
    except DatabaseUnavailable as error:
        raise DatabaseUnavailable(
            f"the database {mask_password(url)} did not answer",
            why=error.why,
            next_command="give the right address, postgresql://user@host/database",
        ) from error


def _address(url: str, names: str) -> TableAddress:
    *schema, name = (unquote(part) for part in names.split("."))
    return TableAddress(url=url, schema=schema[0] if schema else None, name=name)


def _digested(connection: psycopg.Connection[Any], address: TableAddress) -> DigestedTable:
    found = statements().find_table(connection, schema=address.schema, name=address.name)
    if found is None or found["kind"] not in READABLE_KINDS:
        raise _refused(address, "there is no such table, or this role may not see it")
    columns = list(statements().find_column_types(connection, table=found["oid"]))
    types = {row["name"]: row["type"] for row in columns}
    digested = DigestedTable(
        table=sql.Identifier(found["schema"], found["name"]), texts=_texts(address, types)
    )
    if {row["name"] for row in columns if row["is_required"]} >= KEY_COLUMNS:
        return digested
    keyless = connection.execute(digested.statement("keyless_rows")).fetchone()
    if keyless is not None and keyless["count"]:
        raise _refused(address, f"{keyless['count']} rows lack a part of the key")
    return digested


def _texts(address: TableAddress, types: Mapping[str, str]) -> dict[str, sql.Composable]:
    missing = [name for name in CHECKSUM_COLUMNS if name not in types]
    if missing:
        raise _refused(address, f"it has no column {', '.join(missing)}")
    texts: dict[str, sql.Composable] = {}
    for name in CHECKSUM_COLUMNS:
        exact = _EXACT.get(types[name])
        if name == "date" and types[name] == "date":
            texts[name] = DATE_TEXT
        elif name != "date" and exact is not None:
            texts[name] = sql.SQL(exact).format(sql.Identifier(name))  # type: ignore[arg-type]
        else:
            raise _refused(address, f"the column {name} is {types[name]}, which is not compared")
    return texts


def _refused(address: TableAddress, why: str) -> UsageRefused:
    shown = address.name if address.schema is None else f"{address.schema}.{address.name}"
    return UsageRefused(
        f"{shown} cannot be compared with daily_demand",
        why=why,
        next_command=f"forecast-backfill reconcile {EXAMPLE}",
    )
