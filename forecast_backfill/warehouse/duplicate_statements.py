"""The queries over doubled rows, with the names of one table put in, quoted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from psycopg import sql

from forecast_backfill.core.duplicates import Place
from forecast_backfill.warehouse.doubled_table import DoubledTable
from forecast_backfill.warehouse.statements import statements


class DuplicateStatements:
    """Puts the names of one table into the queries, quoted."""

    def __init__(self, table: DoubledTable, place: Place | None = None) -> None:
        self._table = table
        self._place = place

    def statement(self, query: str, **more: sql.Composable) -> sql.Composed:
        """The named query over the table."""
        table = self._table
        text: str = getattr(statements(), query).sql
        names = [_quoted(name) for name in table.places]
        parts: dict[str, sql.Composable] = {
            "table": sql.SQL(".").join((_quoted(table.schema), _quoted(table.name))),
            "columns": sql.SQL(", ").join(_quoted(name) for name in table.columns),
            "places": sql.SQL(", ").join(names) if names else sql.SQL("()"),
            "places_and": sql.SQL("").join(each + sql.SQL(", ") for each in names),
            "place": _texts(table.places),
            "key": _texts(table.key),
            "version": _or_missing(table.version, "integer"),
            "writer": _or_missing(table.writer, "text"),
            "written": _or_missing(table.written, "timestamptz"),
            "content": _row(table.content),
            "whole": _row(table.whole),
            "within": self._within(),
            "sums": _sums(_quoted(name) for name in table.exact),
            "kept_sums": _sums(
                sql.SQL("(row_content ->> {})::numeric").format(_literal(name))
                for name in table.exact
            ),
        }
        return sql.SQL(text).format(**{**parts, **more})  # type: ignore[arg-type]

    def _within(self) -> sql.Composable:
        if not self._place:
            return sql.SQL("true")
        terms: list[sql.Composable] = []
        for number, (name, value) in enumerate(zip(self._table.places, self._place, strict=True)):
            if value is None:
                terms.append(sql.SQL("{} IS NULL").format(_quoted(name)))
                continue
            # The catalogue has quoted the type's name where it needs that.
            kind = sql.SQL(self._table.types[name].replace("%", "%%"))  # type: ignore[arg-type]
            mark = sql.Placeholder(f"place{number}")
            terms.append(sql.SQL("{} = CAST({} AS {})").format(_quoted(name), mark, kind))
        return sql.SQL(" AND ").join(terms)


def _quoted(name: str) -> sql.Composable:
    # A percent sign in a name would be taken for a parameter.
    return sql.SQL(sql.Identifier(name).as_string().replace("%", "%%"))  # type: ignore[arg-type]


def _literal(text: str) -> sql.Composable:
    return sql.SQL(sql.Literal(text).as_string().replace("%", "%%"))  # type: ignore[arg-type]


def _or_missing(name: str | None, kind: str) -> sql.Composable:
    return sql.SQL(f"NULL::{kind}") if name is None else _quoted(name)  # type: ignore[arg-type]


def _texts(names: Sequence[str]) -> sql.Composable:
    texts = sql.SQL(", ").join(_quoted(name) + sql.SQL("::text") for name in names)
    return sql.SQL("ARRAY[{}]::text[]").format(texts)


def _row(names: Sequence[str]) -> sql.Composable:
    columns = sql.SQL(", ").join(_quoted(name) for name in names)
    return sql.SQL("ROW({})::text").format(columns)


def _sums(values: Iterable[sql.Composable]) -> sql.Composable:
    texts = [sql.SQL("coalesce(sum({}), 0)::text").format(value) for value in values]
    return sql.SQL("ARRAY[{}]::text[]").format(sql.SQL(", ").join(texts))
