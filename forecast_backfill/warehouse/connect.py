"""Connections to PostgreSQL: opened with the workload's limits, reopened when lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import psycopg
from psycopg import conninfo
from psycopg.rows import dict_row

from forecast_backfill.core.errors import DatabaseInterrupted, DatabaseUnavailable
from forecast_backfill.core.states import Workload
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.lost_paths import patience
from forecast_backfill.warehouse.seats import connect_seated

OLDEST_SERVER = 15
DATABASE_VARIABLE = "FORECAST_BACKFILL_DATABASE_URL"
_LOST = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    psycopg.errors.IdleInTransactionSessionTimeout,
)
"""Lost connections, shutdowns, deadlocks, serialization failures and timeouts."""


def resolve_database_url(settings: Settings) -> str:
    """The URL that was set, else that of the embedded server, started where it is not running.

    Raises DatabaseUnavailable where the embedded server cannot be started.
    """
    if settings.database_url:
        return settings.database_url
    from forecast_backfill.warehouse.embedded import EmbeddedServer

    return EmbeddedServer(settings.home).start()


def mask_password(url: str) -> str:
    """The URL as it may be shown: without its password."""
    try:
        parts = conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        return "(not a PostgreSQL URL)"
    if parts.get("password"):
        parts["password"] = "***"
    return conninfo.make_conninfo("", **parts)


def connect_plainly(url: str, **parameters: Any) -> psycopg.Connection[Any]:
    """An autocommit connection without limits, for migrations and administration.

    Raises DatabaseUnavailable where the server cannot be reached or is too old.
    """
    parameters.setdefault("application_name", "forecast_backfill")
    try:
        parameters = {**patience(url), **parameters}
        connection = psycopg.connect(url, autocommit=True, **parameters)
    except (psycopg.OperationalError, psycopg.ProgrammingError) as error:
        raise DatabaseUnavailable(
            f"the database of {DATABASE_VARIABLE}={mask_password(url)} did not answer",
            why=" ".join(str(error).split()),
            next_command=f"export {DATABASE_VARIABLE}=postgresql://… with the right address, or "
            "unset it and run: forecast-backfill up",
        ) from error
    _refuse_old_server(connection)
    return connection


def connect(
    url: str, *, workload: Workload, settings: Settings, application_name: str
) -> psycopg.Connection[dict[str, Any]]:
    """An autocommit connection with the limits of `workload`; its rows are dictionaries.

    Raises DatabaseUnavailable where the server cannot be reached or is too old.
    """
    connection = connect_plainly(
        url, row_factory=dict_row, application_name=f"{workload} {application_name}"[:63]
    )
    limits = {
        **_limits_of(workload, settings),
        "idle_in_transaction_session_timeout": _milliseconds(
            settings.idle_in_transaction_timeout_seconds
        ),
        "timezone": "UTC",
        "search_path": "forecast_backfill",
        "default_transaction_isolation": "read committed",
    }
    calls = ", ".join(["set_config(%s, %s, false)"] * len(limits))
    values = [part for pair in limits.items() for part in pair]
    connection.execute(f"SELECT {calls}", values)  # type: ignore[arg-type]
    # A statement of a killed client ends within a second, where the platform can tell.
    with suppress(psycopg.errors.InvalidParameterValue, psycopg.errors.FeatureNotSupported):
        connection.execute("SET client_connection_check_interval = '1s'")
    return connection


def _limits_of(workload: Workload, settings: Settings) -> dict[str, str]:
    statement, lock = settings.statement_timeout_seconds, settings.lock_timeout_seconds
    memory = settings.nightly_work_mem_mb
    if workload is Workload.BACKFILL:
        statement = min(statement, settings.backfill_statement_timeout_seconds)
        lock = min(lock, settings.backfill_lock_timeout_seconds)
        memory = settings.backfill_work_mem_mb
    return {
        "statement_timeout": _milliseconds(statement),
        "lock_timeout": _milliseconds(lock),
        "work_mem": f"{memory}MB",
    }


class Session:
    """One reusable connection of one thread, opened at first use and reopened when lost.

    `generation` counts the connections: what belonged to an older one (advisory locks) is gone.
    A bounded session of backfill takes one of the connections that backfill may have at once.
    """

    def __init__(
        self,
        url: str,
        workload: Workload,
        settings: Settings,
        name: str = "forecast_backfill",
        *,
        is_bounded: bool = False,
    ) -> None:
        self._is_bounded = is_bounded and workload is Workload.BACKFILL
        self._url = url
        self._workload = workload
        self._settings = settings
        self._name = name
        self._connection: psycopg.Connection[dict[str, Any]] | None = None
        self.generation = 0

    @property
    def url(self) -> str:
        """Where it leads."""
        return self._url

    @property
    def workload(self) -> Workload:
        """For whom the connection is."""
        return self._workload

    @contextmanager
    def use(self) -> Iterator[psycopg.Connection[dict[str, Any]]]:
        """The connection, for statements that each commit on their own.

        Raises DatabaseInterrupted where it is lost on the way or cannot be opened again.
        """
        try:
            yield self._open()
        except _LOST as error:
            raise _interrupted(error) from error
        except Exception:
            raise
        except BaseException:
            # Told to stop, perhaps in the middle of a statement: that connection is of no more use.
            self.close()
            raise

    @contextmanager
    def transaction(self) -> Iterator[psycopg.Connection[dict[str, Any]]]:
        """The connection within one transaction; an exception rolls it back."""
        with self.use() as connection, connection.transaction():
            yield connection

    def is_open(self, generation: int) -> bool:
        """Whether the connection of that generation is still the open one."""
        connection = self._connection
        return self.generation == generation and connection is not None and not connection.closed

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> psycopg.Connection[dict[str, Any]]:
        if self._connection is not None and not self._connection.closed:
            return self._connection
        try:
            self._connection = self._connect()
        except DatabaseUnavailable as error:
            if self.generation == 0:
                raise
            raise _interrupted(error) from error
        self.generation += 1
        return self._connection

    def _connect(self) -> psycopg.Connection[dict[str, Any]]:
        opening = partial(
            connect,
            self._url,
            workload=self._workload,
            settings=self._settings,
            application_name=self._name,
        )
        if not self._is_bounded:
            return opening()
        return connect_seated(opening, seats=self._settings.backfill_connections)


def _interrupted(error: Exception) -> DatabaseInterrupted:
    return DatabaseInterrupted(
        "the database interrupted the work",
        why=f"{type(error).__name__}: {' '.join(str(error).split())}",
        next_command="nothing, it is tried again; if it goes on: forecast-backfill up",
    )


def _milliseconds(seconds: float) -> str:
    return f"{max(1, round(seconds * 1000))}ms"


def _refuse_old_server(connection: psycopg.Connection[Any]) -> None:
    version = connection.info.server_version
    if version >= OLDEST_SERVER * 10_000:
        return
    connection.close()
    raise DatabaseUnavailable(
        f"PostgreSQL {version // 10_000} is too old",
        why=f"PostgreSQL {OLDEST_SERVER} or newer is needed",
        next_command=f"export {DATABASE_VARIABLE}=postgresql://… of a newer server, or unset it",
    )
