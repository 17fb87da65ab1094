"""Brings the schema up to date: forward only, under a lock, and never twice."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql

from forecast_backfill.core.errors import DatabaseUnavailable
from forecast_backfill.warehouse.connect import DATABASE_VARIABLE, connect_plainly

MIGRATIONS = Path(__file__).with_name("migrations")
LOCK_KEY = 0x666F_7265_6361_7374
"""The advisory lock under which migrations run: the bytes of "forecast"."""

_PREPARE = """
    CREATE SCHEMA IF NOT EXISTS forecast_backfill;
    CREATE TABLE IF NOT EXISTS forecast_backfill.schema_migration (
        name text PRIMARY KEY,
        sha256 text NOT NULL,
        applied_at timestamptz NOT NULL DEFAULT now()
    );
    COMMENT ON SCHEMA forecast_backfill IS 'Forecast Backfill; see docs/architecture.md';
    COMMENT ON TABLE forecast_backfill.schema_migration IS 'Applied migrations, never changed.';
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One file of SQL, by name and digest."""

    name: str
    statements: str
    sha256: str


def read_migrations(directory: Path = MIGRATIONS) -> tuple[Migration, ...]:
    """The migrations in the order in which they apply."""
    return tuple(_read(path) for path in sorted(directory.glob("[0-9]*.sql")))


def migrate(url: str, directory: Path = MIGRATIONS) -> tuple[str, ...]:
    """Apply what is missing; the names applied now, none where the schema was up to date.

    Raises DatabaseUnavailable where the database cannot be reached, was migrated by other files
    than these, or does not let this role read or make the schema.
    """
    migrations = read_migrations(directory)
    with connect_plainly(url) as connection:
        try:
            if _pending(migrations, _applied(connection)):
                return _apply(connection, migrations)
        except (psycopg.OperationalError, psycopg.errors.InsufficientPrivilege) as error:
            raise DatabaseUnavailable(
                "the schema forecast_backfill could not be brought up to date",
                why=" ".join(str(error).split()),
                next_command="GRANT CREATE ON DATABASE … TO this role (or set "
                f"{DATABASE_VARIABLE} to one that may), then forecast-backfill up",
            ) from error
    return ()


def _read(path: Path) -> Migration:
    content = path.read_bytes()
    return Migration(
        name=path.stem,
        statements=content.decode(),
        sha256=hashlib.sha256(content).hexdigest(),
    )


def _applied(connection: psycopg.Connection) -> dict[str, str]:
    found = connection.execute(
        "SELECT to_regclass('forecast_backfill.schema_migration') IS NOT NULL"
    ).fetchone()
    if found is None or not found[0]:
        return {}
    rows = connection.execute("SELECT name, sha256 FROM forecast_backfill.schema_migration")
    return dict(rows.fetchall())


def _pending(migrations: tuple[Migration, ...], applied: dict[str, str]) -> list[Migration]:
    known = {migration.name: migration.sha256 for migration in migrations}
    for name, digest in applied.items():
        if name not in known:
            raise _refused(f"migration {name} was applied, but this version does not have it")
        if known[name] != digest:
            raise _refused(f"migration {name} has changed since it was applied")
    pending = [migration for migration in migrations if migration.name not in applied]
    newest = max(applied, default="")
    if pending and pending[0].name < newest:
        raise _refused(f"migration {pending[0].name} would apply after {newest}")
    return pending


def _refused(why: str) -> DatabaseUnavailable:
    return DatabaseUnavailable(
        "the database schema does not fit this version of forecast-backfill",
        why=why,
        next_command="pip install the version that migrated it, or a newer one; then "
        "forecast-backfill up",
    )


def _apply(connection: psycopg.Connection, migrations: tuple[Migration, ...]) -> tuple[str, ...]:
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK_KEY,))
        connection.execute(_PREPARE)
        connection.execute("SET LOCAL search_path = forecast_backfill")
        pending = _pending(migrations, _applied(connection))
        for migration in pending:
            connection.execute(sql.SQL(migration.statements))  # type: ignore[arg-type]
            connection.execute(
                "INSERT INTO schema_migration (name, sha256) VALUES (%s, %s)",
                (migration.name, migration.sha256),
            )
    return tuple(migration.name for migration in pending)
