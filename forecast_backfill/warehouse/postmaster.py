"""Whether a server really runs on a data directory, whatever its pid file says."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import psutil

SOCKET_NAME = ".s.PGSQL.5432"


def find_postmaster(data: Path) -> int | None:
    """The process id of the server on `data`, None where it does not run.

    The pid file survives a kill and its number may by now be another process's: a postmaster is
    called postgres and works in its data directory.
    """
    lines = _pid_file_lines(data)
    if not lines or not lines[0].strip().isdigit():
        return None
    pid = int(lines[0])
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        if (
            process.status() != psutil.STATUS_ZOMBIE
            and process.name() == "postgres"
            and Path(process.cwd()) == data
        ):
            return pid
    return None


def recorded_socket_directory(data: Path) -> Path | None:
    """Where the running server made its socket, which is not where we would make one now if the
    temporary directory has changed; None where there is no record."""
    lines = _pid_file_lines(data)
    return Path(lines[4]) if len(lines) > 4 and lines[4] else None


def remove_stale_files(data: Path, socket_directory: Path) -> None:
    """Remove what a killed server left and the next one could take for a living one.

    Only to be called under the lock, and after find_postmaster has found none.
    """
    recorded = recorded_socket_directory(data)
    for directory in {socket_directory, recorded or socket_directory}:
        (directory / f"{SOCKET_NAME}.lock").unlink(missing_ok=True)
        (directory / SOCKET_NAME).unlink(missing_ok=True)
    (data / "postmaster.pid").unlink(missing_ok=True)


def _pid_file_lines(data: Path) -> list[str]:
    try:
        return (data / "postmaster.pid").read_text().splitlines()
    except OSError:
        return []
