"""`down`: stops Dagster and the embedded PostgreSQL; the data stays."""

from __future__ import annotations

import json

import click

from forecast_backfill.cli.dagster_server import dagster_server
from forecast_backfill.settings import load_settings
from forecast_backfill.warehouse.embedded import EmbeddedServer


@click.command("down")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(as_json: bool) -> None:
    """Stop what `up` or the demo started. A database that was set by URL is left alone."""
    settings = load_settings()
    is_embedded = settings.database_url is None
    has_stopped_dagster = dagster_server(settings).stop()
    has_stopped = is_embedded and EmbeddedServer(settings.home).stop()
    if as_json:
        click.echo(
            json.dumps(
                {
                    "is_embedded": is_embedded,
                    "stopped": has_stopped,
                    "dagster_stopped": has_stopped_dagster,
                }
            )
        )
        return
    if has_stopped_dagster:
        click.echo("Dagster stopped")
    if not is_embedded:
        click.echo("nothing to stop: the database was set by FORECAST_BACKFILL_DATABASE_URL")
    else:
        click.echo("embedded PostgreSQL stopped" if has_stopped else "nothing was running")
