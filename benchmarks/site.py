"""A chain of its own for a measurement: home, Dagster home and port, removed afterwards."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date as Date
from pathlib import Path
from typing import Any

import click

from benchmarks.interruption import undisturbed
from benchmarks.machine import CHECKOUT
from benchmarks.readiness import wait_until_ready
from forecast_backfill.settings import PREFIX, Settings, load_settings

FIRST_DATE = Date(2025, 1, 1)
AS_OF = Date(2025, 12, 31)
"""Pinned, so that a bench does the same work on every day: 365 dates × 40 regions exist."""

COMMAND_LINE = (sys.executable, "-c", "from forecast_backfill.cli.main import main; main()")


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Settings of a chain below `root`, and its start and stop by the command line."""

    root: Path
    landing: Path
    port: int
    batch_size: int

    @property
    def home(self) -> Path:
        """Where PostgreSQL's data and the logs are."""
        return self.root / "home"

    @property
    def values(self) -> dict[str, Any]:
        """Every setting that differs from the default."""
        return {
            "home": self.home,
            "landing": self.landing,
            "dagster_url": f"http://127.0.0.1:{self.port}",
            "first_date": FIRST_DATE,
            "as_of": AS_OF,
            "batch_size": self.batch_size,
        }

    @property
    def settings(self) -> Settings:
        """The settings, for what this process does itself."""
        return load_settings(**self.values)

    @property
    def dagster_process(self) -> int:
        """The id of `dagster dev`."""
        return int((self.home / "dagster.pid").read_text())

    def call(self, *arguments: str) -> dict[str, Any]:
        """Call `forecast-backfill … --json`; what it printed."""
        environment = {
            **os.environ,
            **{f"{PREFIX}{name.upper()}": str(value) for name, value in self.values.items()},
            "DAGSTER_HOME": str(self.root),
            "PYTHONPATH": str(CHECKOUT),
        }
        process = subprocess.Popen(
            [*COMMAND_LINE, *arguments, "--json"],
            cwd=self.root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            printed, complained = process.communicate()
        finally:
            if process.poll() is None:
                # A server that is half started could not be stopped: the verb comes to its end.
                click.echo("stopping …", err=True)
                with undisturbed():
                    process.wait()
        if process.returncode != 0:
            said = complained.strip() or printed.strip()
            raise click.ClickException(f"forecast-backfill {' '.join(arguments)}: {said}")
        answer: dict[str, Any] = json.loads(printed)
        return answer


def forget_settings() -> None:
    """Drop what the environment sets: a bench measures the defaults."""
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        del os.environ[name]


@contextmanager
def running_site(*, root: Path, landing: Path, batch_size: int) -> Iterator[Site]:
    """A site with PostgreSQL and Dagster up and the daemon at work; stopped on the way out."""
    root.mkdir()
    for name in ("dagster.yaml", "workspace.yaml"):
        shutil.copy(CHECKOUT / name, root)
    site = Site(root=root, landing=landing, port=_free_port(), batch_size=batch_size)
    try:
        url = site.call("up")["database_url"]
        site.call("up", "--dagster")
        wait_until_ready(site.settings.dagster_url, url)
        yield site
    finally:
        with undisturbed():
            site.call("down")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
