"""The embedded server's files: data directory, configuration, and the directory of its socket."""

from __future__ import annotations

import hashlib
import os
import pwd
import shutil
import stat
import tempfile
from pathlib import Path

from forecast_backfill.core.errors import DatabaseUnavailable
from forecast_backfill.warehouse.connect import DATABASE_VARIABLE
from forecast_backfill.warehouse.postmaster import SOCKET_NAME
from forecast_backfill.warehouse.server_user import (
    ServerUser,
    open_binaries,
    open_path_to,
    run_as,
)

SOCKET_PATH_LIMIT = 103
"""Bytes that a socket's path may have: 107 on Linux, 103 on macOS."""

CONFIGURATION = "forecast_backfill.conf"
_SETTINGS = """\
listen_addresses = ''
unix_socket_permissions = 0700
max_connections = 100
shared_buffers = 128MB
wal_level = minimal
max_wal_senders = 0
max_wal_size = 1GB
checkpoint_timeout = 15min
timezone = 'UTC'
log_timezone = 'UTC'
log_min_messages = warning
"""


def create_data_directory(data: Path, user: ServerUser) -> None:
    """Make a new cluster. It appears under its name only when it is whole."""
    unfinished = data.with_name(f"{data.name}.new")
    if unfinished.exists():
        shutil.rmtree(unfinished)
    unfinished.mkdir(mode=0o700)
    if user.is_other:
        os.chown(unfinished, user.uid, user.gid)
        open_path_to(data)
        open_binaries()
    run_as(
        user,
        "initdb",
        *("-D", unfinished, "-U", "postgres", "--encoding=UTF8", "--locale=C"),
        *("--auth-local=trust", "--auth-host=reject", "--no-instructions"),
    )
    with (unfinished / "postgresql.conf").open("a") as file:
        file.write(f"include = '{CONFIGURATION}'\n")
    unfinished.rename(data)


def check_data_directory(data: Path, user: ServerUser) -> None:
    """Raise DatabaseUnavailable where `data` is not a cluster of this version and user."""
    owner = data.stat().st_uid
    if owner != user.uid:
        raise _refused(data, f"it belongs to {_name(owner)}, not to {_name(user.uid)}")
    try:
        found = (data / "PG_VERSION").read_text().strip()
    except OSError as error:
        raise _refused(data, f"it is not a PostgreSQL data directory ({error.strerror})") from error
    expected = run_as(user, "postgres", "--version").split()[2].split(".")[0]
    if found != expected:
        raise _refused(data, f"it was made by PostgreSQL {found}; the embedded one is {expected}")


def write_configuration(data: Path, socket_directory: Path, user: ServerUser) -> None:
    """Write our settings anew: the home may have moved since the last start."""
    path = data / CONFIGURATION
    quoted = str(socket_directory).replace("'", "''")
    path.write_text(f"{_SETTINGS}unix_socket_directories = '{quoted}'\n")
    path.chmod(0o600)
    if user.is_other:
        os.chown(path, user.uid, user.gid)
        open_path_to(data)
        open_binaries()


def socket_directory_for(data: Path, *, create_for: ServerUser | None = None) -> Path:
    """The data directory itself; a private temporary one where its path does not fit a socket.

    A socket's path is short, and PostgreSQL and its clients split a list of directories at commas.
    """
    path = os.fsencode(data / SOCKET_NAME)
    if len(path) <= SOCKET_PATH_LIMIT and not set(str(data)) & set(',"\\\n'):
        return data
    digest = hashlib.sha256(os.fsencode(data)).hexdigest()[:16]
    directory = Path(tempfile.gettempdir()) / f"forecast_backfill-{os.geteuid()}-{digest}"
    if create_for is not None:
        _make_private(directory, create_for)
    return directory


def _make_private(directory: Path, user: ServerUser) -> None:
    try:
        directory.mkdir(mode=0o700)
    except FileExistsError:
        pass
    else:
        if user.is_other:
            os.chown(directory, user.uid, user.gid)
    found = directory.lstat()
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == user.uid
    if not is_ours or found.st_mode & 0o077:
        raise _refused(directory, "it exists, and is not a private directory of ours")


def _refused(path: Path, why: str) -> DatabaseUnavailable:
    return DatabaseUnavailable(
        f"{path} cannot be used by the embedded PostgreSQL",
        why=why,
        next_command=f"move {path} away, or export FORECAST_BACKFILL_HOME=… with another "
        f"directory, or export {DATABASE_VARIABLE}=postgresql://…; then forecast-backfill up",
    )


def _name(uid: int) -> str:
    try:
        return f"user {pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f"user {uid}"
