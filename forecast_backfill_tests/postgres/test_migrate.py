"""Migrations go forward, once, and only as they were written."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from forecast_backfill.core.errors import DatabaseUnavailable
from forecast_backfill.warehouse.migrate import MIGRATIONS, migrate
from forecast_backfill_tests.postgres.rows import fetch

FIRST = "0001_daily_demand_and_ledger"


@pytest.fixture
def migrations(tmp_path: Path) -> Path:
    """A copy of the migrations, which a test may change."""
    return Path(shutil.copytree(MIGRATIONS, tmp_path / "migrations"))


def test_a_second_migration_applies_nothing(empty_database: str) -> None:
    assert migrate(empty_database)[0] == FIRST
    assert migrate(empty_database) == ()


def test_four_processes_that_migrate_at_once_apply_each_file_once(empty_database: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        applied = list(pool.map(migrate, [empty_database] * 4))
    assert sum(name == FIRST for names in applied for name in names) == 1
    found = fetch(empty_database, "SELECT count(*) FROM schema_migration WHERE name = %s", FIRST)
    assert found == [(1,)]


def test_a_file_that_changed_after_it_was_applied_is_refused(
    database: str, migrations: Path
) -> None:
    with (migrations / f"{FIRST}.sql").open("a") as file:
        file.write("-- changed\n")
    with pytest.raises(DatabaseUnavailable, match="has changed since it was applied"):
        migrate(database, migrations)


def test_a_database_of_a_newer_version_is_refused(database: str, tmp_path: Path) -> None:
    with pytest.raises(DatabaseUnavailable, match="this version does not have it"):
        migrate(database, tmp_path)


def test_a_file_before_an_applied_one_is_refused(database: str, migrations: Path) -> None:
    (migrations / "0000_late.sql").write_text("SELECT 1;")
    with pytest.raises(DatabaseUnavailable, match="0000_late would apply after"):
        migrate(database, migrations)


def test_a_file_that_fails_leaves_nothing_behind(database: str, migrations: Path) -> None:
    (migrations / "9999_broken.sql").write_text("CREATE TABLE half (n int); SELECT 1/0;")
    with pytest.raises(Exception, match="division by zero"):
        migrate(database, migrations)
    assert fetch(database, "SELECT to_regclass('half') IS NULL") == [(True,)]


def test_a_role_that_may_not_create_is_told_so(empty_database: str) -> None:
    with psycopg.connect(empty_database, autocommit=True) as connection:
        connection.execute("CREATE ROLE reader_of_nothing LOGIN")
    try:
        as_reader = empty_database.replace("postgres@", "reader_of_nothing@")
        with pytest.raises(DatabaseUnavailable, match=r"permission denied.*GRANT CREATE"):
            migrate(as_reader)
    finally:
        with psycopg.connect(empty_database, autocommit=True) as connection:
            connection.execute("DROP ROLE reader_of_nothing")
