"""`demo`: the main job on real grocery data, from landed files to a reconciled warehouse."""

from __future__ import annotations

import json
from datetime import date as Date
from datetime import timedelta

import click

from forecast_backfill.app.campaign import plan_launch
from forecast_backfill.cli.dagster_server import start_dagster
from forecast_backfill.cli.landing import land_with_progress, order_of
from forecast_backfill.cli.launching import Ended, open_launchpad
from forecast_backfill.cli.progress_text import as_fields, clock, describe
from forecast_backfill.core.calendar import Calendar
from forecast_backfill.core.partition import DateRange
from forecast_backfill.core.states import Workload
from forecast_backfill.landing.damage import Damaged, damage
from forecast_backfill.settings import Settings, load_settings
from forecast_backfill.wiring.partition import SystemClock, calendar_in, open_session


@click.command("demo")
@click.option("--days", type=click.IntRange(min=1), default=90, show_default=True)
@click.option("--damage", "damaged_count", type=click.IntRange(min=0), default=12)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def command(days: int, damaged_count: int, as_json: bool) -> int:
    """Land real data with a few damaged sources, start Dagster, rebuild the history, leave it up.

    The exit code is 0 where exactly the damaged sources were quarantined and all else is done.
    """
    settings = load_settings()
    # The seam is where nightly has come to: a demo that slept for days has missed nights.
    with open_session(settings, Workload.BACKFILL) as session:
        calendar = calendar_in(session, settings, SystemClock())
    dates = DateRange(start=calendar.seam - timedelta(days=days), end=calendar.seam)
    damaged = _land(settings, calendar, dates, damaged_count)
    _say(f"starting PostgreSQL and Dagster at {settings.dagster_url}")
    with open_launchpad(settings) as pad:
        start_dagster(settings)
        plan = plan_launch(
            start=dates.start,
            end=dates.end,
            regions=settings.regions,
            known=settings.regions,
            calendar=calendar,
        )
        campaign_id = pad.launch(plan, reprocess=False)
        url = pad.client.url_of(campaign_id)
        _say(f"launched {campaign_id}: {plan.partitions:,} partitions, {url}")
        ended = pad.follow(campaign_id, quiet=as_json)
    is_as_expected = _is_as_expected(ended, len(damaged))
    if as_json:
        fields = {**as_fields(ended.campaign), "damaged": len(damaged), "url": url}
        click.echo(json.dumps(fields))
    else:
        _summarise(ended, damaged, url, settings)
    return 0 if is_as_expected else 1


def _land(
    settings: Settings, calendar: Calendar, dates: DateRange, count: int
) -> tuple[Damaged, ...]:
    order = order_of(settings, days=_days_since(dates.start, calendar), as_of=calendar.latest_date)
    _say(f"landing {order.days} days × {len(order.landed)} regions of real grocery sales")
    land_with_progress(order)
    if not count:
        return ()
    return damage(order.directory, dates=dates, regions=order.landed, count=count)


def _days_since(first: Date, calendar: Calendar) -> int:
    """From the first date to the latest, nightly's own among them."""
    return (calendar.latest_date - first).days + 1


def _is_as_expected(ended: Ended, damaged: int) -> bool:
    campaign = ended.campaign
    others = campaign.failed + campaign.mismatched + campaign.refused + campaign.left
    return campaign.quarantined == damaged and others == 0


def _summarise(ended: Ended, damaged: tuple[Damaged, ...], url: str, settings: Settings) -> None:
    campaign = ended.campaign
    click.echo()
    click.echo(describe(campaign))
    if campaign.first_event_at and campaign.last_event_at:
        seconds = (campaign.last_event_at - campaign.first_event_at).total_seconds()
        click.echo(f"first to last commit: {clock(seconds)}")
    for each in damaged:
        click.echo(f"  damaged on purpose: {each.partition}, {each.way}")
    click.echo()
    click.echo(f"the campaign:     {url}")
    click.echo(f"the checks:       {settings.dagster_url}/assets/daily_demand?view=checks")
    click.echo("the quarantine:   forecast-backfill quarantine list")
    click.echo("repair and retry: forecast-backfill landing && forecast-backfill quarantine retry")
    click.echo("stop it all:      forecast-backfill down")


def _say(text: str) -> None:
    click.echo(text, err=True)
