"""One embedded server a session; each test gets its own copy of a migrated database."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from psycopg import sql

from forecast_backfill.warehouse.embedded import EmbeddedServer
from forecast_backfill.warehouse.migrate import migrate

TEMPLATE = "forecast_backfill"
_numbers = count(1)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """A running embedded server whose own database is migrated and serves as the template."""
    embedded = EmbeddedServer(tmp_path_factory.mktemp("server"))
    try:
        migrate(embedded.start())
        yield embedded
    finally:
        embedded.stop()


@pytest.fixture
def database(server: EmbeddedServer) -> Iterator[str]:
    """The URL of a fresh migrated database, dropped after the test with who is still connected."""
    name = f"test_{next(_numbers)}"
    yield from _copy(server.url, name, TEMPLATE)


@pytest.fixture
def empty_database(server: EmbeddedServer) -> Iterator[str]:
    """The URL of a fresh database without our schema."""
    name = f"empty_{next(_numbers)}"
    yield from _copy(server.url, name, "template1")


@pytest.fixture
def database_url(database: str) -> str:
    """The same as `database`, for tests that only need the address."""
    return database


def _copy(url: str, name: str, template: str) -> Iterator[str]:
    administration = _with_database(url, "postgres")
    _execute(
        administration,
        sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
            sql.Identifier(name), sql.Identifier(template)
        ),
    )
    try:
        yield _with_database(url, name)
    finally:
        drop = sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
        _execute(administration, drop)


def _with_database(url: str, name: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def _execute(url: str, statement: sql.Composed) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement)
