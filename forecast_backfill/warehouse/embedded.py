"""The embedded PostgreSQL server: starts, finds, stops and repairs it under one home directory."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import sql

from forecast_backfill.core.errors import DatabaseUnavailable
from forecast_backfill.warehouse.connect import DATABASE_VARIABLE
from forecast_backfill.warehouse.postmaster import (
    find_postmaster,
    recorded_socket_directory,
    remove_stale_files,
)
from forecast_backfill.warehouse.server_files import (
    check_data_directory,
    create_data_directory,
    socket_directory_for,
    write_configuration,
)
from forecast_backfill.warehouse.server_user import ServerUser, run_as, server_user

DATABASE = "forecast_backfill"
ROLE = "postgres"
START_SECONDS = 60


class EmbeddedServer:
    """One server a home directory, shared by every process that names that home.

    Data lies in `<home>/postgres`; a local socket that only its owner (and root) can reach is the
    only way in. Started as root, the server runs as the system user `embedded_postgres`, and
    parents of its data and of its binaries that this user could not pass get o+x, no more.
    """

    def __init__(self, home: Path) -> None:
        self.home = home.expanduser().resolve()
        self.data = self.home / "postgres"

    @property
    def url(self) -> str:
        """Where clients connect, whether or not the server runs."""
        directory = recorded_socket_directory(self.data) or socket_directory_for(self.data)
        return self._url(directory, DATABASE)

    def start(self) -> str:
        """Start the server unless it runs already, and return its URL. Safe to call at once.

        Raises DatabaseUnavailable where the data directory is another version's or user's, or the
        server does not come up.
        """
        if self.data.exists() and self.is_running() and self._has_database():
            return self.url
        self._create_home()
        user = server_user()
        with self._locked():
            if not self.is_running():
                self._start(user)
            if not self._has_database():
                self._create_database()
        return self.url

    def stop(self) -> bool:
        """Stop the server: open transactions are rolled back. Whether there was one to stop."""
        if not self.data.exists():
            return False
        with self._locked():
            if find_postmaster(self.data) is None:
                return False
            run_as(server_user(), "pg_ctl", "stop", "-D", self.data, "-m", "fast", "-w")
            return True

    def is_running(self) -> bool:
        """Whether the server answers."""
        return self._answer(ROLE) is None

    def _start(self, user: ServerUser) -> None:
        if not self.data.exists():
            create_data_directory(self.data, user)
        check_data_directory(self.data, user)
        if find_postmaster(self.data) is None:
            remove_stale_files(self.data, socket_directory_for(self.data))
            directory = socket_directory_for(self.data, create_for=user)
            write_configuration(self.data, directory, user)
            log = self.data / "server.log"
            run_as(user, "pg_ctl", "start", "-D", self.data, "-W", "-s", "-l", log)
        self._wait()

    def _wait(self) -> None:
        # Recovery after a kill may take a while; a server that went away again is not waited for.
        deadline = time.monotonic() + START_SECONDS
        grace = time.monotonic() + 5
        while (refusal := self._answer(ROLE)) is not None:
            now = time.monotonic()
            is_gone = now > grace and find_postmaster(self.data) is None
            if is_gone or now > deadline:
                raise DatabaseUnavailable(
                    "the embedded PostgreSQL did not start",
                    why=f"{refusal}; its log ends: {self._log_end()}",
                    next_command=f"read {self.data / 'server.log'}, then forecast-backfill up",
                )
            time.sleep(0.05)

    def _answer(self, database: str) -> str | None:
        try:
            psycopg.connect(self._plain_url(database), connect_timeout=5).close()
        except psycopg.OperationalError as error:
            return " ".join(str(error).split())
        return None

    def _has_database(self) -> bool:
        return self._answer(DATABASE) is None

    def _create_database(self) -> None:
        with psycopg.connect(self._plain_url(ROLE), autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))

    def _plain_url(self, database: str) -> str:
        directory = recorded_socket_directory(self.data) or socket_directory_for(self.data)
        return self._url(directory, database)

    @staticmethod
    def _url(directory: Path, database: str) -> str:
        return f"postgresql://{ROLE}@/{database}?host={quote(str(directory), safe='/')}"

    def _log_end(self) -> str:
        try:
            lines = (self.data / "server.log").read_text(errors="replace").splitlines()
        except OSError:
            return "(no log)"
        return " | ".join(lines[-3:])

    def _create_home(self) -> None:
        try:
            self.home.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DatabaseUnavailable(
                f"the home directory {self.home} cannot be made",
                why=str(error),
                next_command="export FORECAST_BACKFILL_HOME=… with a directory of yours, or "
                f"export {DATABASE_VARIABLE}=postgresql://…",
            ) from error

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with (self.home / "postgres.lock").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
