"""Doubled rows of any PostgreSQL table: found, attributed, and collapsed under a lock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import psycopg
from psycopg import sql

from forecast_backfill.core.duplicates import Content, Copies, Place, Tie, Writer
from forecast_backfill.core.errors import DatabaseInterrupted
from forecast_backfill.warehouse.compared_table import connect_to
from forecast_backfill.warehouse.doubled_table import (
    Asked,
    DoubledTable,
    describe_table,
    table_refused,
)
from forecast_backfill.warehouse.duplicate_statements import DuplicateStatements
from forecast_backfill.warehouse.statements import statements

OUR_KEPT = ("forecast_backfill", "duplicate_removed")
FOREIGN_KEPT = "forecast_backfill_duplicate_removed"
TEXT_TYPES = ("text", "character varying", "character")
Connection = psycopg.Connection[dict[str, Any]]


@contextmanager
def open_duplicates(
    url: str, asked: Asked, *, lock_timeout_seconds: float
) -> Iterator[PostgresDuplicates]:
    """The table in the database at `url`, which need not be ours.

    Raises TableRefused where it cannot be worked on as asked, with the database's reason,
    DatabaseUnavailable where its server does not answer, and DatabaseInterrupted where it stops to.
    """
    with connect_to(url) as connection:
        milliseconds = f"{max(1, round(lock_timeout_seconds * 1000))}ms"
        statements().prepare_for_duplicates(connection, lock_timeout=milliseconds)
        try:
            table = describe_table(connection, asked)
            _refuse_uneven_versions(connection, table)
            yield PostgresDuplicates(connection, table)
        except psycopg.errors.LockNotAvailable as error:
            raise DatabaseInterrupted(
                f"the table {asked.table} is in use",
                why="its lock was not free within the lock timeout; what was done stays done",
                next_command="forecast-backfill repair duplicates … again",
            ) from error
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            raise DatabaseInterrupted(
                "the database interrupted the work",
                why=" ".join(str(error).split()),
                next_command="the same command again; what was done stays done",
            ) from error
        except psycopg.Error as error:
            raise table_refused(asked.table, " ".join(str(error).split())) from error


def _refuse_uneven_versions(connection: Connection, table: DoubledTable) -> None:
    version = table.version
    if version is None or table.types[version].split("(")[0] not in TEXT_TYPES:
        return
    asked = DuplicateStatements(table).statement("has_uneven_versions")
    row = connection.execute(asked).fetchone()
    if row is not None and row["is_uneven"]:
        raise table_refused(
            table.name,
            f"its versions in {version} are texts of several lengths, and text sorts 10 below 9",
            "name a column of numbers or times with --version",
        )


class PostgresDuplicates:
    """One table, over one connection."""

    def __init__(self, connection: Connection, table: DoubledTable) -> None:
        self._connection = connection
        self._table = table
        self._sql = DuplicateStatements(table)

    def copies(self) -> Sequence[Copies]:
        """The partitions with a doubled key, by their values."""
        rows = self._connection.execute(self._sql.statement("duplicate_copies"), {}).fetchall()
        return [Copies(**{**row, "place": tuple(row["place"])}) for row in rows]

    def writers(self) -> Mapping[Place, Sequence[Writer]]:
        """Who wrote the rows of doubled keys, by partition, the earliest first."""
        shown = self._connection.execute("SHOW track_commit_timestamp").fetchone()
        is_tracked = shown is not None and shown["track_commit_timestamp"] == "on"
        statement = self._sql.statement(
            "duplicate_writers",
            committed=sql.SQL(
                "pg_xact_commit_timestamp(fb_transaction::xid)"
                if is_tracked
                else "NULL::timestamptz"
            ),
        )
        found: dict[Place, list[Writer]] = {}
        for row in self._connection.execute(statement, {}).fetchall():
            writer = Writer(**{**row, "place": tuple(row["place"])})
            found.setdefault(writer.place, []).append(writer)
        return found

    @contextmanager
    def transaction(self, place: Place) -> Iterator[PostgresCollapse]:
        """One READ COMMITTED transaction over one partition; an exception rolls it all back.

        Raises TableRefused where rows of this partition may not go (a key of another table, say).
        """
        try:
            with self._connection.transaction():
                yield PostgresCollapse(self._connection, self._table, place)
        except (psycopg.IntegrityError, psycopg.InternalError) as error:
            raise table_refused(self._table.name, " ".join(str(error).split())) from error

    def refuse_cascades(self) -> None:
        """Raise TableRefused where deleting a row would change rows of another table."""
        rows = list(statements().cascading_keys(self._connection, table=self._table.oid))
        if rows:
            raise table_refused(
                self._table.name,
                f"deleting its rows would change {rows[0]['child']} ({rows[0]['name']})",
                "drop that foreign key, or make it NO ACTION, then try again",
            )


class PostgresCollapse:
    """The steps of one repair, on an open transaction."""

    def __init__(self, connection: Connection, table: DoubledTable, place: Place) -> None:
        self._connection = connection
        self._table = table
        self._sql = DuplicateStatements(table, place)
        names = (f"place{number}" for number in range(len(place)))
        self._values = dict(zip(names, place, strict=True))

    def lock(self) -> None:
        """Keep every other writer of the table out until the transaction ends; readers go on."""
        self._connection.execute(self._sql.statement("lock_duplicates"), {})

    def ties(self, limit: int) -> Sequence[Tie]:
        """Keys whose newest rows differ, up to `limit`."""
        rows = self._rows("tied_copies", most=limit)
        return [Tie(**{**row, "key": tuple(row["key"])}) for row in rows]

    def survivors(self) -> Content:
        """The content of the newest row of every key; without sums."""
        (row,) = self._rows("surviving_content")
        return Content(rows=row["rows"], checksum=int(row["checksum"]), doubled=0, sums={})

    def stored(self) -> Content:
        """The content of the partition as it is now."""
        (row,) = self._rows("stored_content")
        return Content(
            rows=row["rows"],
            checksum=int(row["checksum"]),
            doubled=row["doubled"],
            sums=self._sums(row["sums"]),
        )

    def remove(self, repair_id: str) -> Content:
        """Keep every row but the newest a key aside and delete it; what was kept aside."""
        kept = self._kept()
        name = f"{self._table.schema}.{self._table.name}"
        (row,) = self._rows("remove_copies", kept, repair_id=repair_id, table_name=name)
        return Content(rows=row["rows"], checksum=0, doubled=0, sums=self._sums(row["sums"]))

    def _kept(self) -> sql.Identifier:
        """Where removed rows are kept: in our schema, else beside the table."""
        schema, name = OUR_KEPT
        if statements().find_table(self._connection, schema=schema, name=name) is not None:
            return sql.Identifier(schema, name)
        kept = sql.Identifier(self._table.schema, FOREIGN_KEPT)
        self._connection.execute(self._sql.statement("create_kept", kept=kept), {})
        return kept

    def _rows(
        self, query: str, kept: sql.Identifier | None = None, **values: Any
    ) -> list[dict[str, Any]]:
        more = {} if kept is None else {"kept": kept}
        statement = self._sql.statement(query, **more)
        return self._connection.execute(statement, {**self._values, **values}).fetchall()

    def _sums(self, texts: Sequence[str]) -> Mapping[str, Decimal]:
        return {name: Decimal(text) for name, text in zip(self._table.exact, texts, strict=True)}
