"""`forecast-backfill backfill`: launches a partition-range backfill through Dagster."""

from __future__ import annotations

from datetime import datetime
from functools import partial

import click

from forecast_backfill.app.campaign import plan_launch
from forecast_backfill.app.launch_room import refuse_without_room
from forecast_backfill.cli.launching import open_launchpad, run_launch
from forecast_backfill.core.partition import DateRange, partitions_of
from forecast_backfill.core.version import Winner
from forecast_backfill.settings import Settings, load_settings
from forecast_backfill.wiring.lakehouse import plan_facts_of, refuse_in_lakehouse
from forecast_backfill.wiring.partition import SystemClock, calendar_in, calendar_of

DATE = click.DateTime(["%Y-%m-%d"])


@click.command("backfill")
@click.option(
    "--from", "start", type=DATE, metavar="YYYY-MM-DD", required=True, help="The first date."
)
@click.option(
    "--to",
    "end",
    type=DATE,
    metavar="YYYY-MM-DD",
    required=True,
    help="The date after the last one: the range is half-open, and --to itself is not rebuilt.",
)
@click.option("--regions", default="all", show_default=True, help="Names by commas, or all.")
@click.option("--reprocess", is_flag=True, help="Write also what the ledger has as done.")
@click.option("--overlap", is_flag=True, help="Write also nightly's dates, merging by version.")
@click.option(
    "--winner",
    type=click.Choice([each.value for each in Winner]),
    help="Whose rows stay where both had the same export; live unless said otherwise.",
)
@click.option("--watch", is_flag=True, help="Follow it to its end, then judge it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    start: datetime,
    end: datetime,
    regions: str,
    reprocess: bool,
    overlap: bool,
    winner: str | None,
    watch: bool,
    as_json: bool,
) -> int:
    """Rebuild daily_demand from the landed files for a range of dates and regions.

    What is done with the same source, code and dimensions is skipped. With --watch the exit code
    is 1 if any partition is not done.

    With --overlap the dates may lie at or after the seam: of every row the one of the newer export
    stays, and --winner says whose does where the exports are the same.
    """
    if winner is not None and not overlap:
        raise click.UsageError("--winner is for a campaign with --overlap")
    settings = load_settings()
    if overlap:
        refuse_in_lakehouse(
            settings,
            "a campaign with --overlap",
            next_command="forecast-backfill backfill … before the seam without --overlap",
        )
    plan = partial(
        plan_launch,
        start=start.date(),
        end=end.date(),
        regions=_chosen(regions, settings),
        known=settings.regions,
        winner=Winner(winner or Winner.LIVE) if overlap else None,
    )
    # What cannot be meant is refused before anything is started; the ledger may know of nights
    # that were missed, which are nightly's still.
    plan(calendar=calendar_of(settings, SystemClock()))
    with open_launchpad(settings) as pad:
        launch = plan(calendar=calendar_in(pad.session, settings, SystemClock()))
        dates = DateRange(start=start.date(), end=end.date())
        refuse_without_room(
            plan_facts_of(settings, pad.session),
            tuple(partitions_of(dates, _chosen(regions, settings))),
            rewrites=reprocess,
        )
        return run_launch(pad, launch, reprocess=reprocess, watch=watch, as_json=as_json)


def _chosen(text: str, settings: Settings) -> tuple[str, ...]:
    if text.strip() == "all":
        return settings.regions
    return tuple(part.strip() for part in text.split(",") if part.strip())
