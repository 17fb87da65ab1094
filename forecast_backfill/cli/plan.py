"""`forecast-backfill plan`: how long a campaign would take, and what could stop it."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime

import click

from forecast_backfill.app.plan_campaign import plan_campaign
from forecast_backfill.cli.kept_text import kept_fields, kept_line
from forecast_backfill.cli.plan_text import as_fields, lines_of
from forecast_backfill.cli.questions import (
    advice_fields,
    advice_lines,
    advice_of,
    answers_of,
    questions_options,
)
from forecast_backfill.core.errors import UsageRefused
from forecast_backfill.core.in_place import risk_matrix
from forecast_backfill.core.partition import DateRange
from forecast_backfill.core.states import Workload
from forecast_backfill.settings import Settings, load_settings
from forecast_backfill.warehouse.acceptances import superseded_size
from forecast_backfill.warehouse.risk_facts import risk_facts
from forecast_backfill.wiring.partition import load_engine, open_session
from forecast_backfill.wiring.plan import Supposed, plan_ports

DATE = click.DateTime(["%Y-%m-%d"])
MOST_DATES = 3660
MOST_SLOTS = 100_000
MOST_MINUTES = 10_000.0


def _finite(ctx: click.Context, option: click.Parameter, value: float | None) -> float | None:
    if value is None or math.isfinite(value):
        return value
    raise click.BadParameter(f"{value} is no number of minutes")


@click.command("plan")
@click.option(
    "--from", "start", type=DATE, metavar="YYYY-MM-DD", required=True, help="The first date."
)
@click.option(
    "--to", "end", type=DATE, metavar="YYYY-MM-DD", required=True, help="After the last date."
)
@click.option("--regions", default="all", show_default=True, help="Names by commas, or all.")
@click.option("--slots", type=click.IntRange(1, MOST_SLOTS), help="Suppose so many slots.")
@click.option(
    "--peak",
    type=click.IntRange(0, MOST_SLOTS),
    help="Suppose that nightly needs so many of them.",
)
@click.option(
    "--task-minutes",
    type=click.FloatRange(min=0.0, min_open=True, max=MOST_MINUTES),
    callback=_finite,
    help="Suppose that a partition takes so long; else as recent ones did.",
)
@questions_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    start: datetime,
    end: datetime,
    regions: str,
    slots: int | None,
    peak: int | None,
    task_minutes: float | None,
    tolerates_partial: bool | None,
    is_destructive: bool | None,
    is_small: bool | None,
    as_json: bool,
) -> int:
    """Size a campaign over [from, to) × regions as if it started now, and look before launching.

    Each line of the preflight passes or says what to do next. The exit code is 1 where one of them
    speaks against a launch. Nothing is launched or changed.

    Three answers decide whether to do it in place or in a shadow; each risk is shown with what
    holds it off now, and what was seen of that.
    """
    settings = load_settings()
    answers = answers_of(
        tolerates_partial=tolerates_partial,
        is_destructive=is_destructive,
        is_small=is_small,
        may_ask=not as_json,
    )
    dates, chosen = _dates(start, end), _chosen(regions, settings)
    supposed = Supposed(slots=slots, peak=peak, task_minutes=task_minutes)
    now = datetime.now(UTC)
    with open_session(settings, Workload.BACKFILL) as session:
        ports = plan_ports(settings, session, now=now, supposed=supposed)
        plan = plan_campaign(dates, chosen, now=now, ports=ports)
        size = superseded_size(session)
        facts = risk_facts(
            session,
            room=plan.room,
            seam=ports.calendar.seam,
            code_version=load_engine(settings).code_version,
        )
    advice, matrix = advice_of(answers), risk_matrix(facts)
    days = settings.superseded_days
    if as_json:
        kept = kept_fields(size, now=now, days=days)
        fields = {**as_fields(plan, dates, chosen), **advice_fields(advice, matrix)}
        click.echo(json.dumps({**fields, "kept": kept}))
    else:
        for line in (*lines_of(plan, dates, chosen), *advice_lines(advice, matrix)):
            click.echo(line)
        click.echo("")
        click.echo(kept_line(size, now=now, days=days))
    return 0 if plan.may_launch else 1


def _dates(start: datetime, end: datetime) -> DateRange:
    if end > start and (end - start).days <= MOST_DATES:
        return DateRange(start=start.date(), end=end.date())
    raise UsageRefused(
        f"the range from {start.date()} to {end.date()} cannot be planned",
        why=f"--to is exclusive, later than --from, and at most {MOST_DATES} days after it",
        next_command="forecast-backfill plan --from … --to … (the day after the last one)",
    )


def _chosen(text: str, settings: Settings) -> tuple[str, ...]:
    if text.strip() == "all":
        return settings.regions
    asked = {part.strip() for part in text.split(",") if part.strip()}
    unknown = sorted(asked - set(settings.regions))
    if unknown or not asked:
        raise UsageRefused(
            f"unknown region {unknown[0]!r}" if unknown else "no region was named",
            why=f"the setting FORECAST_BACKFILL_REGIONS names {', '.join(settings.regions)}",
            next_command="forecast-backfill plan --regions all (or names among those)",
        )
    return tuple(each for each in settings.regions if each in asked)
