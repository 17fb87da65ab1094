"""`up`: starts the embedded PostgreSQL, or checks the one that was set; Dagster where asked."""

from __future__ import annotations

import json

import click

from forecast_backfill.cli.dagster_server import start_dagster
from forecast_backfill.settings import load_settings
from forecast_backfill.warehouse.connect import mask_password, resolve_database_url
from forecast_backfill.warehouse.migrate import migrate


@click.command("up")
@click.option("--dagster", "with_dagster", is_flag=True, help="Also start `dagster dev`.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(with_dagster: bool, as_json: bool) -> None:
    """Start PostgreSQL and bring its schema up to date; done at once where it runs already."""
    settings = load_settings()
    is_embedded = settings.database_url is None
    url = resolve_database_url(settings)
    applied = migrate(url)
    is_reloaded = with_dagster and start_dagster(settings)
    shown = url if is_embedded else mask_password(url)
    if as_json:
        fields = {"database_url": shown, "is_embedded": is_embedded, "migrated": list(applied)}
        if with_dagster:
            fields |= {"dagster_url": settings.dagster_url, "code_was_reloaded": is_reloaded}
        click.echo(json.dumps(fields))
        return
    server = "embedded PostgreSQL" if is_embedded else "PostgreSQL"
    click.echo(f"{server} is up: {shown}")
    for name in applied:
        click.echo(f"migrated: {name}")
    if with_dagster:
        click.echo(f"Dagster is up: {settings.dagster_url}")
