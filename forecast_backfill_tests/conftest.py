"""One embedded server a test process; each test gets its own copy of a migrated database."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from psycopg import sql

from forecast_backfill.warehouse.embedded import EmbeddedServer
from forecast_backfill.warehouse.migrate import migrate
from forecast_backfill_tests.spark.fixtures import cluster as cluster
from forecast_backfill_tests.spark.fixtures import connect as connect
from forecast_backfill_tests.spark.fixtures import connected as connected

TEMPLATE = "forecast_backfill"
_numbers = count(1)

GROUPS = {"dagster_dev": "daemon", "station": "daemon", "connect": "spark", "cluster": "spark"}
"""Tests with these fixtures stay in one process: it waits far more than it works, and side by side
they would only slow each other down."""


# First: pytest-xdist looks for the marks in the same hook, and without it none would be there yet.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A module's tests stay in one process, and some modules among each other."""
    groups: dict[str, str] = {}
    for item in items:
        for fixture in set(getattr(item, "fixturenames", ())) & GROUPS.keys():
            groups[_module(item)] = GROUPS[fixture]
    for item in items:
        module = _module(item)
        item.add_marker(pytest.mark.xdist_group(groups.get(module, module)))


def _module(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


@contextmanager
def server_home() -> Iterator[Path]:
    """A directory for a server. Not pytest's own: each pytest that starts makes the parent of those
    private again, and a server of root's, which runs as another user, is then shut out."""
    with tempfile.TemporaryDirectory(prefix="fb-", ignore_cleanup_errors=True) as directory:
        yield Path(directory)


@pytest.fixture
def home() -> Iterator[Path]:
    """A home directory for a server of the test's own."""
    with server_home() as directory:
        yield directory


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedServer]:
    """A running embedded server whose own database is migrated and serves as the template."""
    with server_home() as directory:
        yield from _serve(EmbeddedServer(directory))


def _serve(embedded: EmbeddedServer) -> Iterator[EmbeddedServer]:
    try:
        migrate(embedded.start())
        # Tests kill processes, never the machine: nothing is lost without waiting for the disk.
        administration = _with_database(embedded.url, "postgres")
        _execute(administration, sql.SQL("ALTER SYSTEM SET fsync = off"))
        _execute(administration, sql.SQL("SELECT pg_reload_conf()"))
        yield embedded
    finally:
        embedded.stop()


@pytest.fixture
def database(server: EmbeddedServer) -> Iterator[str]:
    """The URL of a fresh migrated database, dropped after the test with who is still connected."""
    name = f"test_{next(_numbers)}"
    yield from copy_database(server.url, name, TEMPLATE)


@pytest.fixture
def empty_database(server: EmbeddedServer) -> Iterator[str]:
    """The URL of a fresh database without our schema."""
    name = f"empty_{next(_numbers)}"
    yield from copy_database(server.url, name, "template1")


@pytest.fixture
def database_url(database: str) -> str:
    """The same as `database`, for tests that only need the address."""
    return database


def copy_database(url: str, name: str, template: str) -> Iterator[str]:
    """The URL of a new database, a copy of the template, dropped at the end."""
    administration = _with_database(url, "postgres")
    _execute(
        administration,
        sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy").format(
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


def _execute(url: str, statement: sql.Composable) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement)
