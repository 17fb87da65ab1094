"""What the verbs that launch a campaign share: launch it, follow it, judge how it ended."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import click

from forecast_backfill.app.campaign import BackfillProgress, BackfillState, LaunchPlan
from forecast_backfill.cli.live_bar import LiveBar
from forecast_backfill.cli.progress_text import as_fields, describe, is_done
from forecast_backfill.cli.turning import user
from forecast_backfill.core.errors import DagsterUnreachable
from forecast_backfill.core.states import Workload
from forecast_backfill.dagster_defs.graphql_client import DagsterClient
from forecast_backfill.dagster_defs.tags import (
    BACKFILL_PRIORITY,
    LAUNCHED_BY_TAG,
    OVERLAP_TAG,
    PRIORITY_TAG,
    REPROCESS_TAG,
    WINNER_TAG,
    WORKLOAD_TAG,
)
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.campaigns import (
    CampaignProgress,
    campaign_progress,
    register_campaign,
)
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.waits import sum_waits
from forecast_backfill.wiring.partition import RETRY_SECONDS, open_session, retry_interrupted

POLL_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A campaign that has no partition left to try, or with which Dagster has finished."""

    backfill: BackfillProgress
    campaign: CampaignProgress

    @property
    def is_good(self) -> bool:
        """Whether the ledger has every partition as current, and Dagster does not say otherwise."""
        refused = self.backfill.state is BackfillState.ENDED_OTHERWISE
        return is_done(self.campaign) and not refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Launchpad:
    """What a launch needs: the webserver, and the database in which campaigns are recorded."""

    client: DagsterClient
    session: Session

    def launch(self, plan: LaunchPlan, *, reprocess: bool) -> str:
        """Launch the plan as a Dagster backfill and record the campaign; its id."""
        launched_by = user()
        tags = {
            WORKLOAD_TAG: Workload.BACKFILL.value,
            PRIORITY_TAG: BACKFILL_PRIORITY,
            LAUNCHED_BY_TAG: launched_by,
        }
        if reprocess:
            tags[REPROCESS_TAG] = "true"
        if plan.winner is not None:
            tags |= {OVERLAP_TAG: "true", WINNER_TAG: plan.winner.value}
        campaign_id = self.client.launch(plan.spans, tags=tags, title=plan.title)
        register_campaign(
            self.session,
            campaign_id=campaign_id,
            workload=Workload.BACKFILL,
            partitions=plan.partitions,
            launched_by=launched_by,
            reprocess=reprocess,
            winner=plan.winner,
        )
        return campaign_id

    def follow(self, campaign_id: str, *, quiet: bool) -> Ended:
        """Wait until nothing is left to try, with one bar fed from the ledger.

        Dagster closes a backfill up to 30 seconds after its last run; the ledger knows at once.
        """
        with LiveBar(quiet=quiet) as bar:
            while True:
                backfill = self._progress(campaign_id)
                # The campaign goes on through a restart of the database, and so does who watches.
                campaign = retry_interrupted(lambda: campaign_progress(self.session, campaign_id))
                bar.update(campaign, retry_interrupted(lambda: self._held(campaign_id)))
                if backfill.state is not BackfillState.ACTIVE or _is_tried(campaign):
                    return Ended(backfill=backfill, campaign=campaign)
                time.sleep(POLL_SECONDS)

    def _held(self, campaign_id: str) -> str | None:
        waits = sum_waits(self.session, Workload.BACKFILL, campaign_id)
        return next((f"{each.cause}: {each.reason}" for each in waits if each.held), None)

    def _progress(self, campaign_id: str) -> BackfillProgress:
        # The webserver needs the database too: a restart of either is not the campaign's end.
        deadline = time.monotonic() + RETRY_SECONDS
        while True:
            try:
                return self.client.progress(campaign_id)
            except DagsterUnreachable:
                if time.monotonic() > deadline:
                    raise
            time.sleep(POLL_SECONDS)


@contextmanager
def open_launchpad(settings: Settings) -> Iterator[Launchpad]:
    """A launchpad on the settings' webserver and database."""
    with open_session(settings, Workload.BACKFILL) as session:
        yield Launchpad(client=DagsterClient(settings.dagster_url), session=session)


def run_launch(
    pad: Launchpad, plan: LaunchPlan, *, reprocess: bool, watch: bool, as_json: bool
) -> int:
    """Launch the plan, follow it where asked, print what came of it; the exit code."""
    campaign_id = pad.launch(plan, reprocess=reprocess)
    url = pad.client.url_of(campaign_id)
    if watch:
        if not as_json:
            click.echo(f"launched {campaign_id}: {plan.partitions} partitions, {url}", err=True)
        return _report(pad.follow(campaign_id, quiet=as_json), url, as_json=as_json)
    if as_json:
        fields = {"campaign_id": campaign_id, "requested": plan.partitions, "url": url}
        click.echo(json.dumps(fields))
    else:
        click.echo(f"launched {campaign_id}: {plan.partitions} partitions")
        click.echo(f"  {url}")
        click.echo(f"  next: forecast-backfill status --campaign {campaign_id}")
    return 0


def _is_tried(campaign: CampaignProgress) -> bool:
    return campaign.requested > 0 and campaign.left == 0


def _report(ended: Ended, url: str, *, as_json: bool) -> int:
    campaign = ended.campaign
    if as_json:
        fields = {**as_fields(campaign), "dagster_status": ended.backfill.status, "url": url}
        click.echo(json.dumps(fields))
        return 0 if ended.is_good else 1
    click.echo(f"{campaign.campaign_id}: {describe(campaign)}")
    click.echo(f"  {url}")
    if ended.backfill.error:
        click.echo(f"  Dagster: {ended.backfill.error.strip().splitlines()[0]}")
    if campaign.quarantined:
        click.echo(f"  next: forecast-backfill quarantine list --campaign {campaign.campaign_id}")
    elif not ended.is_good:
        click.echo(f"  Dagster says {ended.backfill.status}")
        click.echo(f"  next: forecast-backfill status --campaign {campaign.campaign_id}")
    return 0 if ended.is_good else 1
