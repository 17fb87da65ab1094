"""What `diagnose duplicates` and `repair duplicates` share: the options, and the table opened."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from forecast_backfill.core.duplicates import Place
from forecast_backfill.settings import load_settings
from forecast_backfill.warehouse.connect import resolve_database_url
from forecast_backfill.warehouse.doubled_table import Asked
from forecast_backfill.warehouse.duplicates import PostgresDuplicates, open_duplicates
from forecast_backfill.warehouse.migrate import migrate


def doubled_options(command: Callable[..., int]) -> Callable[..., int]:
    """TABLE and the options that say what a doubled row is; handed on as `asked`."""

    @click.argument("table", metavar="TABLE")
    @click.option("--key", required=True, metavar="A,B,C", help="Columns that should be unique.")
    @click.option(
        "--partition-by",
        metavar="A,B",
        help="Columns of a partition, '' for none; else date and region, where they are in the "
        "key. Copies are looked for within a partition.",
    )
    @click.option("--version", metavar="COLUMN", help="Of a key's rows, the highest is the newest.")
    @click.option("--ignore", default="", metavar="A,B", help="Columns that may differ in copies.")
    @click.option("--database", metavar="URL", help="Else the project's own.")
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    @functools.wraps(command)
    def wrapped(
        table: str,
        key: str,
        partition_by: str | None,
        version: str | None,
        ignore: str,
        **more: Any,
    ) -> int:
        asked = Asked(
            table=table,
            key=_names(key),
            partition_by=None if partition_by is None else _names(partition_by),
            version=version,
            ignored=_names(ignore),
        )
        if not asked.key:
            raise click.UsageError("--key names no column")
        return command(asked=asked, **more)

    return wrapped


@contextmanager
def table_of(asked: Asked, database: str | None) -> Iterator[PostgresDuplicates]:
    """The table in the database that was asked for; the project's own is started where need be."""
    settings = load_settings()
    url = database
    if url is None:
        url = resolve_database_url(settings)
        migrate(url)
    timeout = settings.lock_timeout_seconds
    with open_duplicates(url, asked, lock_timeout_seconds=timeout) as table:
        yield table


def shown_place(place: Place) -> str:
    """A partition's values on one line."""
    return " ".join("(missing)" if value is None else value for value in place) or "whole table"


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
