"""Runs one campaign through Dagster's daemon and takes its figures from the event history."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import click

from benchmarks.site import Site
from benchmarks.worker_memory import WorkerMemory
from forecast_backfill.app.campaign import BackfillState, LaunchPlan, plan_launch
from forecast_backfill.cli.launching import Launchpad, open_launchpad
from forecast_backfill.cli.live_bar import LiveBar
from forecast_backfill.core.partition import DateRange
from forecast_backfill.warehouse.campaigns import campaign_progress
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.wiring.partition import SystemClock, calendar_of

POLL_SECONDS = 1.0
STALL_SECONDS = 300.0
"""Nothing new for so long means that the daemon or the runs are dead."""

_WRITTEN = """
SELECT count(*) AS partitions, count(DISTINCT run_id) AS runs, sum(rows)::bigint AS rows,
       sum(seconds) AS task_seconds, min(at) AS first, max(at) AS last
FROM partition_event WHERE campaign_id = %(campaign)s AND kind = 'written'
"""
_RUN_SECONDS = """
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY end_time - start_time) AS seconds
FROM public.runs WHERE end_time IS NOT NULL
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignFigures:
    """What one campaign took; `task_seconds` is the sum over its partition tasks."""

    batch_size: int
    partitions: int
    runs: int
    rows: int
    task_seconds: float
    run_seconds: float | None
    launch_to_first: float
    launch_to_last: float
    peak_mib: float

    @property
    def per_minute(self) -> float:
        """Partitions a minute, from launch to the last commit."""
        return self.partitions * 60 / self.launch_to_last

    @property
    def seconds_each(self) -> float:
        """Seconds from one commit to the next, on average."""
        return (self.launch_to_last - self.launch_to_first) / (self.partitions - 1)

    def seconds_for(self, partitions: int) -> float:
        """How long so many partitions would have taken.

        The wait for the first commit happens once; only what comes after it is scaled.
        """
        return self.launch_to_first + self.seconds_each * (partitions - 1)


def run_campaign(site: Site, dates: DateRange, regions: tuple[str, ...]) -> CampaignFigures:
    """Launch a backfill of the dates × regions as the command line does, and wait for its end.

    Raises ClickException where a partition was not written.
    """
    plan = plan_launch(
        start=dates.start,
        end=dates.end,
        regions=regions,
        known=site.settings.regions,
        calendar=calendar_of(site.settings, SystemClock()),
    )
    with open_launchpad(site.settings) as pad, WorkerMemory(site.dagster_process) as memory:
        launched_at = datetime.now(UTC)
        campaign_id = pad.launch(plan, reprocess=False)
        _follow(pad, campaign_id, plan)
        # The last run's peak may come after its last commit: it tells Dagster then.
        time.sleep(2 * POLL_SECONDS)
        events, run = _read(pad.session, campaign_id)
    if events["partitions"] != plan.partitions:
        raise click.ClickException(
            f"{campaign_id}: {events['partitions']} of {plan.partitions} partitions were written"
        )
    return CampaignFigures(
        batch_size=site.batch_size,
        partitions=events["partitions"],
        runs=events["runs"],
        rows=events["rows"],
        task_seconds=events["task_seconds"],
        run_seconds=run["seconds"],
        launch_to_first=(events["first"] - launched_at).total_seconds(),
        launch_to_last=(events["last"] - launched_at).total_seconds(),
        peak_mib=memory.peak_mib,
    )


def _follow(pad: Launchpad, campaign_id: str, plan: LaunchPlan) -> None:
    left, changed = plan.partitions, time.monotonic()
    with LiveBar() as bar:
        while left:
            time.sleep(POLL_SECONDS)
            progress = campaign_progress(pad.session, campaign_id)
            bar.update(progress)
            if progress.left < left:
                left, changed = progress.left, time.monotonic()
            if time.monotonic() > changed + STALL_SECONDS:
                raise click.ClickException(f"{campaign_id}: nothing new in {STALL_SECONDS:.0f} s")
            state = pad.client.progress(campaign_id).state
            if state is BackfillState.ENDED_OTHERWISE:
                raise click.ClickException(f"{campaign_id}: Dagster ended it with {left} left")


def _read(session: Session, campaign_id: str) -> tuple[dict[str, Any], dict[str, Any]]:
    with session.use() as connection:
        events = connection.execute(_WRITTEN, {"campaign": campaign_id}).fetchone()
        run = connection.execute(_RUN_SECONDS).fetchone()
    assert events is not None and run is not None, "an aggregate has one row"
    return events, run
