"""Where the verbs find the `dagster dev` that they start and stop."""

from __future__ import annotations

import os
from pathlib import Path

from forecast_backfill.dagster_defs.server import DagsterServer
from forecast_backfill.settings import Settings


def dagster_server(settings: Settings) -> DagsterServer:
    """The server over DAGSTER_HOME, or over the working directory where that is not set."""
    return DagsterServer(
        home=settings.home,
        dagster_home=Path(os.environ.get("DAGSTER_HOME") or Path.cwd()),
        url=settings.dagster_url,
    )
