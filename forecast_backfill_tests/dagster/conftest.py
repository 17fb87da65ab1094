"""Real Dagster for tests: homes with a landing, an embedded database, `dagster dev`."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from forecast_backfill.warehouse.embedded import EmbeddedServer
from forecast_backfill_tests.dagster.small_chain import environment, land_chain

START_SECONDS = 120.0
CHECKOUT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A checkout's `dagster.yaml` and `workspace.yaml` with a home and a landing of their own."""

    dagster_home: Path
    home: Path
    url: str

    @property
    def landing(self) -> Path:
        """Where the chain's files are landed."""
        return self.home / "landing"


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(autouse=True)
def usual_priority(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs in this very process do not lower its priority for all tests that come after."""
    monkeypatch.setenv("FORECAST_BACKFILL_BACKFILL_NICE", "0")


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """The small chain, landed; this process's environment points at it while the module runs."""
    # A short path of its own: a socket's path may have 107 characters at most.
    root = Path(tempfile.mkdtemp(prefix="fb-dagster-"))
    for name in ("dagster.yaml", "workspace.yaml"):
        shutil.copy(CHECKOUT / name, root)
    url = f"http://127.0.0.1:{free_port()}"
    found = Site(dagster_home=root, home=root / "home", url=url)
    land_chain(found.landing)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment(found.home, root).items():
            patch.setenv(name, value)
        patch.setenv("FORECAST_BACKFILL_DAGSTER_URL", url)
        patch.setenv("PYTHONPATH", str(CHECKOUT))
        patch.delenv("FORECAST_BACKFILL_DATABASE_URL", raising=False)
        yield found
        EmbeddedServer(found.home).stop()
    shutil.rmtree(root)


@pytest.fixture(scope="module")
def dagster_dev(site: Site) -> Iterator[str]:
    """`dagster dev` over the site: webserver, daemon, code server; its address."""
    host, _, port = site.url.removeprefix("http://").partition(":")
    command = [sys.executable, "-m", "dagster", "dev", "-w", "workspace.yaml"]
    with (site.dagster_home / "dagster.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "-h", host, "-p", port],
            cwd=site.dagster_home,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            _wait_for(site.url, process)
            yield site.url
        finally:
            _stop(process)


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/server_info", timeout=2):
                return
        except OSError:
            time.sleep(0.3)
    raise AssertionError(f"dagster dev did not come up; exit code {process.poll()}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=20)
            break
    # What its children still hold open ends with the process group.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
