"""Connections over a path that swallows packets: ended in seconds, and told as an interruption."""

from __future__ import annotations

import ctypes
import os
import socket
from collections.abc import Iterator
from contextlib import closing, suppress
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import pytest
from dagster_postgres.utils import create_pg_engine
from psycopg import conninfo

from forecast_backfill.core.errors import DatabaseInterrupted
from forecast_backfill.core.states import Workload
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.lost_paths import patience, with_patience

SO_ATTACH_FILTER = 26


class Path:
    """A TCP port before a server's Unix socket, which can begin to swallow what it gets."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._behind: list[socket.socket] = []
        self.port = self._listener.getsockname()[1]
        Thread(target=self._accept, daemon=True).start()

    def swallow(self) -> None:
        """From now on no packet of who is connected is even acknowledged."""
        # A filter of one instruction that keeps nothing of any packet.
        instruction = ctypes.create_string_buffer(b"\x06\x00\x00\x00\x00\x00\x00\x00")
        program = bytes(_Program(1, ctypes.addressof(instruction)))
        for each in self._open:
            each.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)

    def close(self) -> None:
        for each in (self._listener, *self._open, *self._behind):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._target)
                self._open.append(client)
                self._behind.append(server)
                for pair in ((client, server), (server, client)):
                    Thread(target=_forward, args=pair, daemon=True).start()


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def _forward(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


@pytest.fixture
def path(database: str) -> Iterator[Path]:
    directory = conninfo.conninfo_to_dict(database)["host"]
    with closing(Path(f"{directory}/.s.PGSQL.5432")) as opened:
        yield opened


def over(path: Path, database: str, **more: str) -> str:
    """The database's address over TCP."""
    parts = conninfo.conninfo_to_dict(database)
    parts.update(host="127.0.0.1", port=path.port, **more)
    return conninfo.make_conninfo("", **parts)


def silence_of(descriptor: int) -> list[int]:
    """The kernel's options of a socket: idle, interval, count, and milliseconds unanswered."""
    names = ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT", "TCP_USER_TIMEOUT")
    with socket.socket(fileno=os.dup(descriptor)) as opened:
        return [opened.getsockopt(socket.IPPROTO_TCP, getattr(socket, name)) for name in names]


def test_a_connection_ends_after_forty_seconds_of_silence(database: str, path: Path) -> None:
    session = Session(over(path, database), Workload.BACKFILL, Settings())
    with closing(session), session.use() as connection:
        assert silence_of(connection.pgconn.socket) == [10, 10, 3, 40_000]


def test_dagsters_connections_end_alike(database: str, path: Path) -> None:
    parts = conninfo.conninfo_to_dict(database)
    url = f"postgresql://{parts['user']}@127.0.0.1:{path.port}/{parts['dbname']}"
    engine = create_pg_engine(with_patience(url))
    with closing(engine.raw_connection()) as connection:
        assert silence_of(connection.fileno()) == [10, 10, 3, 40_000]
    engine.dispose()


def test_a_statement_whose_packets_are_swallowed_is_interrupted(database: str, path: Path) -> None:
    """The URL's own second holds, in place of ours."""
    url = over(path, database, keepalives_idle="1", tcp_user_timeout="1000")
    session = Session(url, Workload.BACKFILL, Settings())
    with (
        closing(session),
        pytest.raises(DatabaseInterrupted, match="timed out"),
        session.use() as connection,
    ):
        path.swallow()
        connection.execute("SELECT 1")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql:///warehouse?host=%2Frun%2Fpostgres",
        "postgresql://%2Frun%2Fpostgres/warehouse",
        "postgresql:///warehouse",
        "host=@abstract dbname=warehouse",
    ],
)
def test_a_unix_socket_has_no_path_to_lose(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGHOST", "PGHOSTADDR", "PGSERVICE"):
        monkeypatch.delenv(name, raising=False)
    assert patience(url) == {"connect_timeout": "10"}


def test_the_host_of_the_environment_is_on_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "db.example")
    assert patience("postgresql:///warehouse")["tcp_user_timeout"] == "40000"


def test_what_the_url_says_stays_and_the_rest_is_added_for_dagsters_storage() -> None:
    url = "postgresql://me:p%40ss@db.example:6543/warehouse?keepalives_idle=99&sslmode=require"
    found = with_patience(url)
    assert found.startswith(f"{url}&")
    assert parse_qs(urlsplit(found).query) == {
        "keepalives_idle": ["99"],
        "sslmode": ["require"],
        "connect_timeout": ["10"],
        "keepalives": ["1"],
        "keepalives_interval": ["10"],
        "keepalives_count": ["3"],
        "tcp_user_timeout": ["40000"],
    }


@pytest.mark.parametrize(
    "url", ["postgresql://db.example/warehouse?", "postgres://db.example/warehouse?port=6543&"]
)
def test_a_url_that_ends_openly_is_still_one_when_it_is_completed(url: str) -> None:
    assert conninfo.conninfo_to_dict(with_patience(url))["tcp_user_timeout"] == "40000"


def test_a_password_that_looks_like_a_url_stays_as_it_is() -> None:
    found = conninfo.conninfo_to_dict(with_patience("host=db.example password=a://b"))
    assert (found["password"], found["keepalives_idle"]) == ("a://b", "10")


def test_an_address_of_keywords_is_completed_too() -> None:
    found = with_patience("host=db.example dbname=warehouse connect_timeout=3 keepalives=0")
    assert found == (
        "connect_timeout=3 dbname=warehouse host=db.example keepalives=0 keepalives_idle=10 "
        "keepalives_interval=10 keepalives_count=3 tcp_user_timeout=40000"
    )
