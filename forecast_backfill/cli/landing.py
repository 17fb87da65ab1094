"""`forecast-backfill landing`: land real grocery data as a retailer would."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from datetime import date as Date
from typing import TYPE_CHECKING

import click

from forecast_backfill.core.calendar import latest_complete_date
from forecast_backfill.core.errors import UsageRefused
from forecast_backfill.settings import Settings, load_settings

if TYPE_CHECKING:
    from forecast_backfill.landing.complete_journey import LandingOrder, LandingSummary
    from forecast_backfill.landing.damage import Damaged

LAST_YEAR = 2200

Progress = Callable[[str, int, int], None]


@click.command("landing")
@click.option("--days", type=click.IntRange(min=1), default=91, show_default=True)
@click.option(
    "--as-of",
    type=click.DateTime(["%Y-%m-%d"]),
    help="The last landed date; yesterday in the chain's time zone unless given.",
)
@click.option("--regions", help="Only these regions, with commas; all of the settings otherwise.")
@click.option(
    "--scale",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Copies of every store, for load tests.",
)
@click.option(
    "--damage",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Spoil so many deliveries in different named ways; land again to repair them.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def command(
    days: int, as_of: datetime | None, regions: str | None, scale: int, damage: int, as_json: bool
) -> None:
    """Land The Complete Journey as a retailer would: one delivery a date and region.

    Its dates are moved by whole weeks so that the last is --as-of. Files that already hold what
    they should are left alone, so landing again repairs what was damaged and nothing else.
    """
    settings = load_settings()
    _check_as_of(as_of)
    order = order_of(
        settings,
        days=days,
        as_of=None if as_of is None else as_of.date(),
        landed=None if regions is None else _split(regions),
        scale=scale,
    )
    started = time.monotonic()
    summary = land_with_progress(order)
    damaged = _damage(order, summary, damage)
    seconds = time.monotonic() - started
    show = _show_json if as_json else _show_text
    show(order, summary, damaged, seconds)


def order_of(
    settings: Settings,
    *,
    days: int,
    as_of: Date | None = None,
    landed: tuple[str, ...] | None = None,
    scale: int = 1,
) -> LandingOrder:
    """What to land by these settings; all regions up to the latest complete date unless given."""
    from forecast_backfill.landing.complete_journey import LandingOrder

    return LandingOrder(
        directory=settings.landing_directory,
        zone=settings.zone,
        regions=settings.regions,
        landed=settings.regions if landed is None else landed,
        as_of=_latest(settings) if as_of is None else as_of,
        days=days,
        scale=scale,
    )


def land_with_progress(order: LandingOrder) -> LandingSummary:
    """Land it, with a progress bar on standard error."""
    from forecast_backfill.landing.complete_journey import land_journey

    with _progress() as progress:
        return land_journey(order, progress)


def _check_as_of(as_of: datetime | None) -> None:
    if as_of is not None and not 1970 <= as_of.year <= LAST_YEAR:
        raise UsageRefused(
            f"nothing can be landed as of {as_of.date()}",
            why=f"only the years 1970 to {LAST_YEAR} can be written with their offset from UTC",
            next_command="forecast-backfill landing --as-of YYYY-MM-DD",
        )


def _latest(settings: Settings) -> Date:
    return settings.as_of or latest_complete_date(now=datetime.now(UTC), zone=settings.zone)


def _split(regions: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in regions.split(",") if part.strip()))


def _damage(order: LandingOrder, summary: LandingSummary, count: int) -> tuple[Damaged, ...]:
    from forecast_backfill.core.partition import DateRange
    from forecast_backfill.landing.damage import damage

    if not count:
        return ()
    dates = DateRange(start=summary.first, end=summary.last + timedelta(days=1))
    return damage(order.directory, dates=dates, regions=order.landed, count=count)


@contextmanager
def _progress() -> Iterator[Progress]:
    """A bar on a terminal, one line a stage elsewhere; both on standard error."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _plain
        return
    columns = (TextColumn("{task.description:<12}"), BarColumn(), MofNCompleteColumn())
    with Bars(*columns, TimeRemainingColumn(), console=console) as bars:
        tasks = {}

        def advance(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done)

        yield advance


def _plain(stage: str, done: int, total: int) -> None:
    if done == total:
        click.echo(f"landing {stage}: {done} of {total}", err=True)


def _show_json(
    order: LandingOrder, summary: LandingSummary, damaged: tuple[Damaged, ...], seconds: float
) -> None:
    fields = {
        "directory": str(order.directory),
        "first_date": summary.first.isoformat(),
        "last_date": summary.last.isoformat(),
        "regions": len(order.landed),
        "files": summary.files,
        "written": summary.written,
        "lines": summary.lines,
        "bytes": summary.bytes,
        "seconds": round(seconds, 1),
        "damaged": [
            {
                "date": each.partition.date.isoformat(),
                "region": each.partition.region,
                "way": each.way,
                "found_as": each.found_as.value,
            }
            for each in damaged
        ],
    }
    click.echo(json.dumps(fields))


def _show_text(
    order: LandingOrder, summary: LandingSummary, damaged: tuple[Damaged, ...], seconds: float
) -> None:
    click.echo(
        f"{summary.files:,} deliveries, {summary.lines:,} lines, {summary.bytes / 1e6:.1f} MB, "
        f"{summary.first} to {summary.last}, in {order.directory} after {seconds:.1f} s "
        f"({summary.written:,} files written, the others were as they should be)"
    )
    for each in damaged:
        click.echo(f"damaged {each.partition}: {each.way} (to be found as {each.found_as})")
