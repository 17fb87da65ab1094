"""The embedded server: private, shared, and up again after any kill."""

from __future__ import annotations

import os
import signal
import stat
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import psycopg
import psycopg2
import pytest

from forecast_backfill.core.errors import DatabaseUnavailable
from forecast_backfill.warehouse.connect import mask_password
from forecast_backfill.warehouse.embedded import EmbeddedServer
from forecast_backfill.warehouse.postmaster import find_postmaster
from forecast_backfill.warehouse.server_files import socket_directory_for


@pytest.fixture
def embedded(home: Path) -> Iterator[EmbeddedServer]:
    """A server of the test's own, in a directory with a space and a letter beyond ASCII."""
    server = EmbeddedServer(home / "my höme")
    yield server
    server.stop()


def kill_everything(server: EmbeddedServer) -> None:
    """SIGKILL to the postmaster and all its children."""
    pid = find_postmaster(server.data)
    assert pid is not None
    postmaster = psutil.Process(pid)
    family = [postmaster, *postmaster.children(recursive=True)]
    for process in family:
        process.send_signal(signal.SIGKILL)
    psutil.wait_procs(family, timeout=10)


def test_a_server_killed_with_all_its_children_starts_again_with_its_rows(
    embedded: EmbeddedServer,
) -> None:
    with psycopg.connect(embedded.start(), autocommit=True) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    kill_everything(embedded)
    assert (embedded.data / "postmaster.pid").exists()
    assert not embedded.is_running()
    with psycopg.connect(embedded.start()) as connection:
        assert connection.execute("SELECT answer FROM kept").fetchone() == (42,)


def test_a_pid_file_that_names_another_living_process_does_not_keep_it_from_starting(
    embedded: EmbeddedServer,
) -> None:
    embedded.start()
    kill_everything(embedded)
    path = embedded.data / "postmaster.pid"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([str(os.getpid()), *lines[1:]]) + "\n")
    embedded.start()
    assert embedded.is_running()


def test_starters_at_once_get_one_server(embedded: EmbeddedServer) -> None:
    with ThreadPoolExecutor(4) as pool:
        urls = list(pool.map(lambda _: EmbeddedServer(embedded.home).start(), range(4)))
    assert set(urls) == {embedded.url}
    with psycopg2.connect(urls[0]) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT current_database()")
        assert cursor.fetchone() == ("forecast_backfill",)
    connection.close()


def test_only_the_owner_can_reach_the_socket_and_no_port_is_open(
    embedded: EmbeddedServer,
) -> None:
    with psycopg.connect(embedded.start()) as connection:
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
    socket = embedded.data / ".s.PGSQL.5432"
    assert stat.S_IMODE(embedded.data.stat().st_mode) == 0o700
    assert stat.S_IMODE(socket.stat().st_mode) == 0o700


def test_a_path_too_long_for_a_socket_gets_a_private_directory(home: Path) -> None:
    server = EmbeddedServer(home / ("long" * 25))
    try:
        server.start()
        directory = socket_directory_for(server.data)
        assert directory != server.data
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
        assert server.is_running()
    finally:
        server.stop()
    directory.rmdir()


def test_a_socket_directory_that_others_can_enter_is_refused(home: Path) -> None:
    server = EmbeddedServer(home / ("wide" * 25))
    directory = socket_directory_for(server.data)
    directory.mkdir()
    directory.chmod(0o755)
    try:
        with pytest.raises(DatabaseUnavailable, match="not a private directory of ours"):
            server.start()
    finally:
        directory.rmdir()


def test_a_data_directory_of_another_version_is_refused(embedded: EmbeddedServer) -> None:
    embedded.start()
    embedded.stop()
    (embedded.data / "PG_VERSION").write_text("14\n")
    with pytest.raises(DatabaseUnavailable, match=r"made by PostgreSQL 14.*Next: move") as refused:
        embedded.start()
    assert "FORECAST_BACKFILL_HOME" in refused.value.next_command


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_data_directory_of_another_user_is_refused(embedded: EmbeddedServer) -> None:
    embedded.start()
    embedded.stop()
    os.chown(embedded.data, 12345, 12345)
    with pytest.raises(DatabaseUnavailable, match="belongs to user 12345"):
        embedded.start()


def test_a_start_that_died_while_making_the_cluster_is_begun_again(
    embedded: EmbeddedServer,
) -> None:
    unfinished = embedded.home / "postgres.new"
    unfinished.mkdir(parents=True)
    (unfinished / "PG_VERSION").write_text("18")
    embedded.start()
    assert embedded.is_running()
    assert not unfinished.exists()


def test_a_stopped_server_does_not_answer_and_a_second_stop_finds_none(
    embedded: EmbeddedServer,
) -> None:
    embedded.start()
    assert embedded.stop() is True
    assert embedded.stop() is False
    started = time.monotonic()
    assert not embedded.is_running()
    assert time.monotonic() - started < 2


def test_a_password_is_not_shown() -> None:
    shown = mask_password("postgresql://joe:secret@db.example:5433/x")
    assert "secret" not in shown
    assert "db.example" in shown
