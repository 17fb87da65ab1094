"""`forecast-backfill status`: counts, rate, time left and quarantines, by the ledger."""

from __future__ import annotations

import json

import click

from forecast_backfill.cli.progress_text import as_fields, describe
from forecast_backfill.core.errors import UsageRefused
from forecast_backfill.core.states import Workload
from forecast_backfill.settings import load_settings
from forecast_backfill.warehouse.campaigns import (
    Campaign,
    CampaignProgress,
    campaign_progress,
    list_campaigns,
)
from forecast_backfill.warehouse.quarantines import Quarantine, list_quarantines
from forecast_backfill.wiring import open_session

SHOWN_CAMPAIGNS = 10
SHOWN_QUARANTINES = 10


@click.command("status")
@click.option("--campaign", "campaign_id", help="One campaign: the id of its Dagster backfill.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(campaign_id: str | None, as_json: bool) -> int:
    """Show what the ledger has of one campaign, or of all."""
    with open_session(load_settings(), Workload.BACKFILL) as session:
        campaigns = list_campaigns(session)
        if campaign_id is not None:
            campaigns = _only(campaigns, campaign_id)
        progress = [
            (each, campaign_progress(session, each.campaign_id))
            for each in campaigns[:SHOWN_CAMPAIGNS]
        ]
        overall = None if campaign_id is not None else campaign_progress(session, None)
        refused = list_quarantines(session, campaign_id=campaign_id)
    if as_json:
        click.echo(json.dumps(_fields(progress, overall, refused)))
    else:
        _print(progress, overall, refused)
    return 0


def _only(campaigns: tuple[Campaign, ...], campaign_id: str) -> tuple[Campaign, ...]:
    found = tuple(each for each in campaigns if each.campaign_id == campaign_id)
    if not found:
        raise UsageRefused(
            f"unknown campaign {campaign_id!r}",
            why="neither a launch nor an event of the ledger names it",
            next_command="forecast-backfill status (lists the campaigns)",
        )
    return found


def _fields(
    progress: list[tuple[Campaign, CampaignProgress]],
    overall: CampaignProgress | None,
    refused: tuple[Quarantine, ...],
) -> dict[str, object]:
    return {
        "overall": None if overall is None else as_fields(overall),
        "campaigns": [
            {
                **as_fields(counts),
                "workload": campaign.workload.value,
                "launched_at": campaign.launched_at.isoformat(),
                "launched_by": campaign.launched_by,
                "reprocess": campaign.reprocess,
            }
            for campaign, counts in progress
        ],
        "open_quarantines": [
            {"date": each.partition.date.isoformat(), "region": each.partition.region}
            for each in refused
        ],
    }


def _print(
    progress: list[tuple[Campaign, CampaignProgress]],
    overall: CampaignProgress | None,
    refused: tuple[Quarantine, ...],
) -> None:
    if overall is not None:
        click.echo(f"all        {describe(overall)}")
    for campaign, counts in progress:
        extra = " · reprocess" if campaign.reprocess else ""
        by = f" by {campaign.launched_by}" if campaign.launched_by else ""
        click.echo(f"{campaign.campaign_id:<10} {describe(counts)}")
        click.echo(f"           launched {campaign.launched_at:%Y-%m-%d %H:%M} UTC{by}{extra}")
    if not refused:
        return
    click.echo(f"\n{len(refused)} open quarantines:")
    for each in refused[:SHOWN_QUARANTINES]:
        click.echo(f"  {each.partition}  {each.summary}")
    if len(refused) > SHOWN_QUARANTINES:
        click.echo(f"  … and {len(refused) - SHOWN_QUARANTINES} more")
    click.echo("  next: forecast-backfill quarantine list")
