"""`forecast-backfill status`: what was asked of each workload, what is the case, how far all is."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import click

from forecast_backfill.app.operate import TimeLeft, split_time_left
from forecast_backfill.cli.kept_text import kept_fields, kept_line
from forecast_backfill.cli.progress_text import as_fields, clock, describe
from forecast_backfill.cli.shadow_text import fields_of, line_of
from forecast_backfill.cli.workload_text import (
    WorkloadState,
    read_workload,
    wait_fields,
    waited_text,
    workload_fields,
    workload_lines,
)
from forecast_backfill.core.errors import UsageRefused
from forecast_backfill.core.states import Workload
from forecast_backfill.settings import load_settings
from forecast_backfill.warehouse.acceptances import superseded_size
from forecast_backfill.warehouse.campaigns import (
    Campaign,
    CampaignProgress,
    campaign_progress,
    campaigns_over,
    list_campaigns,
)
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.quarantines import Quarantine, list_quarantines
from forecast_backfill.warehouse.waits import WaitSum, sum_waits, sum_work
from forecast_backfill.wiring.partition import SystemClock, open_session
from forecast_backfill.wiring.shadow import read_shadows

SHOWN_CAMPAIGNS = 10
SHOWN_QUARANTINES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignState:
    """One campaign: how far it is, for what it has waited, and how what is left splits.

    `over` tells how it ended, None where Dagster still works on it or does not know it.
    """

    campaign: Campaign
    progress: CampaignProgress
    waits: tuple[WaitSum, ...]
    left: TimeLeft | None
    over: str | None


@click.command("status")
@click.option("--campaign", "campaign_id", help="One campaign: the id of its Dagster backfill.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(campaign_id: str | None, as_json: bool) -> int:
    """Show what was asked of each workload, what is the case, and how far campaigns are."""
    settings = load_settings()
    with open_session(settings, Workload.BACKFILL) as session:
        campaigns = list_campaigns(session)
        if campaign_id is not None:
            campaigns = _only(campaigns, campaign_id)
        shown = campaigns[:SHOWN_CAMPAIGNS]
        over = campaigns_over(session, [each.campaign_id for each in shown])
        states = [_read_campaign(session, each, over.get(each.campaign_id)) for each in shown]
        overall = None if campaign_id is not None else campaign_progress(session, None)
        refused = list_quarantines(session, campaign_id=campaign_id)
        workloads = [
            read_workload(session, settings, each) for each in (Workload.BACKFILL, Workload.NIGHTLY)
        ]
        size = superseded_size(session)
        shadows = read_shadows(session)
    now, days = SystemClock().now(), settings.superseded_days
    if as_json:
        kept = kept_fields(size, now=now, days=days)
        told = {"kept": kept, "shadows": [fields_of(*each) for each in shadows]}
        click.echo(json.dumps({**_fields(workloads, states, overall, refused), **told}))
    else:
        _print(workloads, states, overall, refused)
        for each in shadows:
            click.echo(line_of(*each))
        click.echo(kept_line(size, now=now, days=days))
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


def _read_campaign(session: Session, campaign: Campaign, over: str | None) -> CampaignState:
    progress = campaign_progress(session, campaign.campaign_id)
    if over is not None and progress.left:
        progress = replace(progress, rate=0.0, eta_seconds=None)
    waits = sum_waits(session, campaign.workload, campaign.campaign_id)
    left = split_time_left(
        progress.eta_seconds,
        worked=sum_work(session, campaign.workload, campaign.campaign_id),
        waited={each.cause: each.seconds for each in waits},
    )
    return CampaignState(campaign=campaign, progress=progress, waits=waits, left=left, over=over)


def _fields(
    workloads: list[WorkloadState],
    states: list[CampaignState],
    overall: CampaignProgress | None,
    refused: tuple[Quarantine, ...],
) -> dict[str, object]:
    return {
        "workloads": {each.workload.value: workload_fields(each) for each in workloads},
        "overall": None if overall is None else as_fields(overall),
        "campaigns": [
            {
                **as_fields(each.progress),
                "over": each.over,
                "workload": each.campaign.workload.value,
                "launched_at": each.campaign.launched_at.isoformat(),
                "launched_by": each.campaign.launched_by,
                "reprocess": each.campaign.reprocess,
                "winner": each.campaign.winner,
                "waits": wait_fields(each.waits),
                "time_left": _left_fields(each.left),
            }
            for each in states
        ],
        "open_quarantines": [
            {"date": each.partition.date.isoformat(), "region": each.partition.region}
            for each in refused
        ],
    }


def _left_fields(left: TimeLeft | None) -> dict[str, object] | None:
    if left is None:
        return None
    waiting = {cause.value: round(seconds, 1) for cause, seconds in left.waiting.items()}
    return {"work_seconds": round(left.work, 1), "waiting_seconds": waiting}


def _print(
    workloads: list[WorkloadState],
    states: list[CampaignState],
    overall: CampaignProgress | None,
    refused: tuple[Quarantine, ...],
) -> None:
    for workload in workloads:
        click.echo("\n".join(workload_lines(workload)))
    if overall is not None:
        click.echo(f"all        {describe(overall)}")
    for each in states:
        click.echo("\n".join(_campaign_lines(each)))
    if not refused:
        return
    click.echo(f"\n{len(refused)} open quarantines:")
    for quarantine in refused[:SHOWN_QUARANTINES]:
        click.echo(f"  {quarantine.partition}  {quarantine.summary}")
    if len(refused) > SHOWN_QUARANTINES:
        click.echo(f"  … and {len(refused) - SHOWN_QUARANTINES} more")
    click.echo("  next: forecast-backfill quarantine list")


def _campaign_lines(state: CampaignState) -> list[str]:
    campaign, left = state.campaign, state.left
    extra = " · reprocess" if campaign.reprocess else ""
    if campaign.winner is not None:
        extra += f" · overlap, {campaign.winner} wins"
    by = f" by {campaign.launched_by}" if campaign.launched_by else ""
    lines = [
        f"{campaign.campaign_id:<10} {describe(state.progress, state.over)}",
        f"           launched {campaign.launched_at:%Y-%m-%d %H:%M} UTC{by}{extra}",
    ]
    if waited := waited_text(state.waits):
        lines.append(f"           waited so far: {waited}")
    if left is not None and left.waiting and state.progress.left:
        waiting = sum(left.waiting.values())
        lines.append(
            f"           of what is left: work {clock(left.work)}, waiting {clock(waiting)}"
        )
    return lines
