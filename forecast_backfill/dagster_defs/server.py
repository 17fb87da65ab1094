"""Starts and stops `dagster dev` in the background: webserver, daemon and code server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from forecast_backfill.core.errors import DagsterUnreachable, UsageRefused

# Kept: a child that is collected while it runs is warned about, and these are to outlive us.
_started: list[subprocess.Popen[bytes]] = []

START_SECONDS = 90.0
STOP_SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DagsterServer:
    """`dagster dev` over the folder that holds `dagster.yaml` and `workspace.yaml`.

    `home` keeps its process id and log; `url` is where the webserver is to listen.
    """

    home: Path
    dagster_home: Path
    url: str

    @property
    def log_file(self) -> Path:
        """Where the output of all three goes."""
        return self.home / "dagster.log"

    @property
    def _pid_file(self) -> Path:
        return self.home / "dagster.pid"

    def start(self) -> bool:
        """Start and wait until the webserver answers; False where it already did.

        Raises UsageRefused outside a checkout, DagsterUnreachable where it does not come up.
        """
        if self.is_ready():
            return False
        self._check_files()
        self.home.mkdir(parents=True, exist_ok=True)
        address = urllib.parse.urlsplit(self.url)
        command = [sys.executable, "-m", "dagster", "dev", "-w", "workspace.yaml"]
        command += ["-h", address.hostname or "127.0.0.1", "-p", str(address.port or 80)]
        with self.log_file.open("ab") as log:
            process = subprocess.Popen(
                command,
                cwd=self.dagster_home,
                env={**os.environ, "DAGSTER_HOME": str(self.dagster_home.resolve())},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        _started.append(process)
        self._pid_file.write_text(str(process.pid))
        self._wait(process)
        return True

    def stop(self) -> bool:
        """Stop what `start` started, all of it; False where nothing ran."""
        if not self._pid_file.exists():
            return False
        group = int(self._pid_file.read_text())
        self._pid_file.unlink()
        if not _owns(group):
            return False
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(group, number)
            except ProcessLookupError:
                return True
            if _wait_until_gone(group):
                return True
        return True

    def is_ready(self) -> bool:
        """Whether the webserver answers."""
        try:
            with urllib.request.urlopen(f"{self.url}/server_info", timeout=2) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False

    def _check_files(self) -> None:
        for name in ("dagster.yaml", "workspace.yaml"):
            if not (self.dagster_home / name).exists():
                raise UsageRefused(
                    "Dagster was not started",
                    why=f"{self.dagster_home} holds no {name}",
                    next_command="cd into the checkout, or export DAGSTER_HOME=<the checkout>",
                )

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.is_ready():
                return
            if process.poll() is not None:
                break
            time.sleep(0.3)
        raise DagsterUnreachable(
            f"Dagster did not come up at {self.url}",
            why=f"exit code {process.poll()}, last line: {_last_line(self.log_file)}",
            next_command=f"less {self.log_file}",
        )


def _owns(group: int) -> bool:
    """Whether the group's leader is still a `dagster dev`: a process id may have been reused."""
    try:
        command = Path(f"/proc/{group}/cmdline").read_bytes()
    except OSError:
        return False
    return b"dagster" in command


def _wait_until_gone(group: int) -> bool:
    deadline = time.monotonic() + STOP_SECONDS
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.2)
    return False


def _last_line(log_file: Path) -> str:
    lines = log_file.read_text(errors="replace").splitlines()
    return lines[-1] if lines else "(no output)"
