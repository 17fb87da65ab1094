"""`forecast-backfill accept`: frees what a campaign replaced; it cannot be rolled back any more."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta

import click

from forecast_backfill.app.accept import Accepted, accept, accept_expired
from forecast_backfill.cli.kept_text import kept_fields, kept_line, shown_bytes
from forecast_backfill.cli.turning import json_option, reason_option, user
from forecast_backfill.core.states import Workload
from forecast_backfill.settings import load_settings
from forecast_backfill.warehouse.acceptances import (
    PostgresAcceptances,
    SupersededSize,
    superseded_size,
)
from forecast_backfill.wiring.partition import SystemClock, open_session
from forecast_backfill.wiring.process_priority import lower_priority


@click.command("accept")
@click.option("--campaign", "campaign_id", help="The id of its Dagster backfill.")
@click.option("--expired", is_flag=True, help="Every campaign that is kept longer than it has to.")
@reason_option
@json_option
def command(campaign_id: str | None, expired: bool, reason: str, as_json: bool) -> int:
    """Accept a campaign: what it replaced is freed, and a rollback is not possible any more.

    It is freed a part at a time; interrupted, run it again. --expired accepts what last wrote more
    than FORECAST_BACKFILL_SUPERSEDED_DAYS ago.
    """
    if (campaign_id is None) is not expired:
        raise click.UsageError("name --campaign or --expired")
    settings, now = load_settings(), SystemClock().now()
    days = settings.superseded_days
    with open_session(settings, Workload.BACKFILL, is_bounded=True) as session:
        lower_priority(Workload.BACKFILL, settings)
        acceptances = PostgresAcceptances(session)
        before = superseded_size(session).bytes
        if campaign_id is not None:
            accepted = [
                accept(campaign_id, accepted_by=user(), reason=reason, acceptances=acceptances)
            ]
        else:
            accepted = accept_expired(
                now - timedelta(days=days),
                accepted_by=user(),
                reason=reason,
                acceptances=acceptances,
            )
        acceptances.give_back_space()
        size = superseded_size(session)
    if as_json:
        kept = kept_fields(size, now=now, days=days)
        click.echo(json.dumps({"accepted": [_fields(each) for each in accepted], "kept": kept}))
    else:
        _print(accepted, before, size, kept_line(size, now=now, days=days))
    return 0


def _fields(accepted: Accepted) -> dict[str, object]:
    return {
        "campaign_id": accepted.campaign_id,
        "accepted_at": accepted.acceptance.accepted_at.isoformat(),
        "accepted_by": accepted.acceptance.accepted_by,
        "partitions": accepted.partitions,
        "rows": accepted.rows,
    }


def _print(accepted: Sequence[Accepted], before: int, size: SupersededSize, kept: str) -> None:
    for each in accepted:
        click.echo(
            f"{each.campaign_id} was accepted by {each.acceptance.accepted_by} at "
            f"{each.acceptance.accepted_at:%F %T} UTC: {each.partitions} partitions, "
            f"{each.rows:,} rows freed"
        )
    if not accepted:
        click.echo("nothing is kept longer than it has to be")
    click.echo(f"{shown_bytes(max(0, before - size.bytes))} went back to the disk; {kept}")
