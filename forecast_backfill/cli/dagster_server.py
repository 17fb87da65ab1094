"""Where the verbs find the `dagster dev` that they start and stop."""

from __future__ import annotations

import os
from pathlib import Path

import click

from forecast_backfill.dagster_defs.code_server import revive_code_server
from forecast_backfill.dagster_defs.graphql_client import DagsterClient
from forecast_backfill.dagster_defs.server import DagsterServer
from forecast_backfill.settings import Settings


def dagster_server(settings: Settings) -> DagsterServer:
    """The server over DAGSTER_HOME, or over the working directory where that is not set."""
    return DagsterServer(
        home=settings.home,
        dagster_home=Path(os.environ.get("DAGSTER_HOME") or Path.cwd()),
        url=settings.dagster_url,
    )


def start_dagster(settings: Settings) -> bool:
    """Start it where it does not run, and its code server where only that is gone; whether it was.

    Raises DagsterUnreachable where either does not come up.
    """
    dagster_server(settings).start()
    url = settings.dagster_url
    trouble = revive_code_server(DagsterClient(url), url)
    if trouble is None:
        return False
    click.echo(f"no run could begin: {trouble.reason}; the code was loaded again", err=True)
    return True
