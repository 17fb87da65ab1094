"""A primary and a real streaming replica of it, made by the embedded server's own pg_basebackup."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from forecast_backfill.warehouse.embedded import EmbeddedServer
from forecast_backfill.warehouse.migrate import migrate
from forecast_backfill.warehouse.server_user import run_as, server_user
from forecast_backfill.warehouse.signals.short_wait import wait_until

PRIMARY_SETTINGS = ("wal_level = replica", "max_wal_senders = 4", "fsync = off")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Both servers; the replica follows while it is not cut off."""

    primary: EmbeddedServer
    replica: EmbeddedServer

    def cut_off(self) -> None:
        """Take the replica's way to the primary; it goes on answering."""
        execute(self.replica.url, "ALTER SYSTEM SET primary_conninfo = 'host=/nowhere'")
        execute(self.replica.url, "SELECT pg_reload_conf()")
        assert wait_until(lambda: not self.is_streaming(), 10)

    def reconnect(self) -> None:
        """Give it back, and wait until the replica has caught up."""
        execute(self.replica.url, "ALTER SYSTEM RESET primary_conninfo")
        execute(self.replica.url, "SELECT pg_wal_replay_resume()")
        execute(self.replica.url, "SELECT pg_reload_conf()")
        assert wait_until(self.has_caught_up, 20)

    def is_streaming(self) -> bool:
        """Whether the primary sees it."""
        return bool(execute(self.primary.url, "SELECT count(*) FROM pg_stat_replication")[0])

    def has_caught_up(self) -> bool:
        """Whether it has replayed all that the primary has written."""
        (position,) = execute(self.primary.url, "SELECT pg_current_wal_lsn()")
        (is_there,) = execute(
            self.replica.url, f"SELECT pg_last_wal_replay_lsn() >= '{position}'::pg_lsn"
        )
        return bool(is_there) and self.is_streaming()


@contextmanager
def streaming_pair(home: Path) -> Iterator[Pair]:
    """Start both, and stop both at the end."""
    primary, replica = EmbeddedServer(home / "primary"), EmbeddedServer(home / "replica")
    try:
        primary.start()
        for setting in PRIMARY_SETTINGS:
            execute(primary.url, f"ALTER SYSTEM SET {setting}")
        primary.stop()
        migrate(primary.start())
        copy(primary, replica)
        replica.start()
        pair = Pair(primary=primary, replica=replica)
        assert wait_until(pair.has_caught_up, 20)
        yield pair
    finally:
        replica.stop()
        primary.stop()


def copy(primary: EmbeddedServer, replica: EmbeddedServer) -> None:
    """The base backup that a replica starts from, with where it finds its primary."""
    user = server_user()
    replica.home.mkdir()
    if user.is_other:
        os.chown(replica.home, user.uid, user.gid)
    run_as(
        user,
        "pg_basebackup",
        *("-d", primary.url, "-D", replica.data, "-c", "fast", "-X", "stream"),
    )
    parts = psycopg.conninfo.conninfo_to_dict(primary.url)
    with (replica.data / "postgresql.conf").open("a") as file:
        file.write(f"primary_conninfo = 'host={parts['host']} user={parts['user']}'\n")
        file.write("wal_retrieve_retry_interval = '100ms'\nhot_standby_feedback = off\n")
    (replica.data / "standby.signal").touch()


def execute(url: str, statement: str) -> tuple[object, ...]:
    """The first row of one statement, nothing where it gives none."""
    with psycopg.connect(url, autocommit=True) as connection:
        done = connection.execute(statement.encode())
        return (done.fetchone() or ()) if done.description else ()
