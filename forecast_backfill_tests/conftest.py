"""One embedded server a test process; each test gets its own copy of a migrated database."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any
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

GROUPS = {
    "spark": re.compile(r"\b(connect|connected|cluster): "),
    "daemon": re.compile(r"\b(dagster_dev|station): "),
}
"""Modules that ask for these fixtures stay in one process: it waits far more than it works, and
side by side they would only slow each other down."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A module's tests stay in one process, and some modules among each other."""
    # Its own groups are lost with pytest 9.2, whose items keep the names that they were given.
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _group_of(config.rootpath / nodeid.partition("::")[0])

    return Scheduling(config, log)


@cache
def _group_of(module: Path) -> str:
    text = module.read_text(encoding="utf-8")
    return next((name for name, asks in GROUPS.items() if asks.search(text)), str(module))


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
