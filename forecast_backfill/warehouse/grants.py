"""What others may do with a table or view, kept where another takes its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, LiteralString, cast

import psycopg
from psycopg import sql

from forecast_backfill.warehouse.statements import statements

Connection = psycopg.Connection[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """One privilege; `grantee` None is everybody, `column` None the whole relation."""

    grantee: str | None
    privilege: str
    is_grantable: bool
    column: str | None


def grants_of(
    connection: Connection, relation: sql.Identifier, columns_of: sql.Identifier | None = None
) -> tuple[Grant, ...]:
    """What others than the owner may do; of columns those that `columns_of` has too."""
    name = relation.as_string(connection)
    columns = name if columns_of is None else columns_of.as_string(connection)
    rows = statements().grants_of(connection, relation=name, columns_of=columns)
    return tuple(Grant(**row) for row in rows)


def give(connection: Connection, relation: sql.Identifier, grants: Sequence[Grant]) -> None:
    """Grant it on the relation, beside what is granted there."""
    for each in grants:
        option = sql.SQL(" WITH GRANT OPTION" if each.is_grantable else "")
        connection.execute(_statement("GRANT", each, relation, "TO") + option)


def give_same(connection: Connection, relation: sql.Identifier, other: sql.Identifier) -> None:
    """Grant on the relation what is granted on the other, and nothing else.

    Columns that only one of them has are left as they are.
    """
    wanted = grants_of(connection, other, relation)
    for each in grants_of(connection, relation, other):
        if each not in wanted:
            # What a grantee has passed on goes too; what is wanted of that is given below.
            connection.execute(_statement("REVOKE", each, relation, "FROM") + sql.SQL(" CASCADE"))
    give(connection, relation, wanted)


def _statement(verb: str, grant: Grant, relation: sql.Identifier, to: str) -> sql.Composed:
    # Verbs and privileges are PostgreSQL's own words.
    privilege = sql.SQL(cast("LiteralString", f"{verb} {grant.privilege}"))
    if grant.column is not None:
        privilege += sql.SQL(" ({})").format(sql.Identifier(grant.column))
    grantee = sql.SQL("PUBLIC") if grant.grantee is None else sql.Identifier(grant.grantee)
    return sql.SQL("{} ON {} {} {}").format(
        privilege, relation, sql.SQL(cast("LiteralString", to)), grantee
    )
