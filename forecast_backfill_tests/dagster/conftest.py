"""Real Dagster for tests: homes with a landing, an embedded database, `dagster dev`."""

from __future__ import annotations

import shutil
import socket
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from forecast_backfill.dagster_defs.server import DagsterServer
from forecast_backfill_tests.dagster.small_chain import environment, land_chain

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


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """The small chain, landed; this process's environment points at it while the module runs."""
    # A short path of its own: a socket's path may have 107 characters at most.
    root = Path(tempfile.mkdtemp(prefix="fb-"))
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
        stop_database(found)
    shutil.rmtree(root)


@pytest.fixture(scope="module")
def dagster_dev(site: Site) -> Iterator[DagsterServer]:
    """`dagster dev` over the site: webserver, daemon, code server; stopped at the end."""
    server = DagsterServer(home=site.home, dagster_home=site.dagster_home, url=site.url)
    server.start()
    yield server
    server.stop()
