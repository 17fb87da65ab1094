"""`forecast-backfill nightly`: does one night by hand, in this process."""

from __future__ import annotations

import json
from collections import Counter
from datetime import date as Date
from datetime import datetime
from uuid import uuid4

import click

from forecast_backfill.app.judge_window import override_window
from forecast_backfill.app.night_steps import Night, run_night
from forecast_backfill.core.completeness import Override
from forecast_backfill.core.errors import UsageRefused
from forecast_backfill.core.outcome import Outcome, Unchanged, Written, reason_of
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.publication import NothingToPublish, Publication
from forecast_backfill.core.states import Workload
from forecast_backfill.landing.arrivals import landed_regions
from forecast_backfill.ports.night_values import ForecastWritten, TrainedModel
from forecast_backfill.settings import Settings, load_settings
from forecast_backfill.warehouse.date_states import read_date_states
from forecast_backfill.wiring.batch import run_batch_of
from forecast_backfill.wiring.dimension import dimension_ports
from forecast_backfill.wiring.night import NightWiring, open_night
from forecast_backfill.wiring.partition import open_wiring

DATE = click.DateTime(["%Y-%m-%d"])


@click.command("nightly")
@click.option(
    "--date", "moment", type=DATE, metavar="YYYY-MM-DD", help="The business date; else the latest."
)
@click.option("--override-by", metavar="NAME", help="Who takes a window that needs an override.")
@click.option("--reason", metavar="TEXT", help="Why; kept with the override.")
@click.option("--reprocess", is_flag=True, help="Write also what is done: rows that were spoilt.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    moment: datetime | None,
    override_by: str | None,
    reason: str | None,
    reprocess: bool,
    as_json: bool,
) -> int:
    """Build a date's landed regions, seal it, fit, forecast and publish, as the night does.

    What is done already is left as it is, but with --reprocess; a region that is not landed counts
    as missing. Dagster is not needed, and is not told. The exit code is 1 where no forecast of the
    night was published.

    An override holds for exactly the window as it is now, and only where the contract leaves it to
    a named person; data alone lifts a refusal.
    """
    if (override_by is None) is not (reason is None):
        raise click.UsageError("--override-by and --reason go together")
    settings = load_settings()
    run_id = f"cli-{uuid4()}"
    with open_night(settings, workload=Workload.NIGHTLY, run_id=run_id) as wiring:
        day = wiring.calendar.latest_date if moment is None else moment.date()
        owns = _owns(day, wiring)
        built = _build_regions(settings, day, run_id, reprocess=reprocess) if owns else []
        night = _run(day, wiring, settings)
        if override_by is not None and reason is not None and not night.is_published:
            override_window(day, Override(by=override_by, reason=reason), ports=wiring.ports)
            night = _run(day, wiring, settings)
    if as_json:
        click.echo(json.dumps(_fields(day, built, night)))
    else:
        _print(day, built, night)
    return 0 if night.is_published else 1


def _run(day: Date, wiring: NightWiring, settings: Settings) -> Night:
    dimensions = dimension_ports(settings, wiring.session)
    return run_night(day, request=wiring.request(), ports=wiring.ports, dimensions=dimensions)


def _owns(day: Date, wiring: NightWiring) -> bool:
    """Whether nightly may still write the date's demand; its own nights it may go on with.

    Raises UsageRefused where the date was never a night.
    """
    calendar = wiring.calendar
    if day > calendar.latest_date or day < calendar.first_date:
        raise UsageRefused(
            f"there is no night of {day}",
            why=f"the dates go from {calendar.first_date} to {calendar.latest_date}",
            next_command=f"forecast-backfill nightly --date {calendar.latest_date}",
        )
    if day >= calendar.seam:
        return True
    settings = wiring.settings
    states = read_date_states(
        wiring.session, regions=settings.regions, horizon_days=settings.horizon_days
    )
    if day in states and states[day].is_night:
        return False
    raise UsageRefused(
        f"{day} is not nightly's to write",
        why=f"backfill owns every date before {calendar.seam}, and nightly never sealed {day}",
        next_command=f"forecast-backfill backfill --from {day} --to {calendar.seam}",
    )


def _build_regions(settings: Settings, day: Date, run_id: str, *, reprocess: bool) -> list[Outcome]:
    landed = landed_regions(settings.landing_directory, day, settings.regions)
    partitions = [Partition(date=day, region=each) for each in settings.regions if each in landed]
    with open_wiring(settings, workload=Workload.NIGHTLY, run_id=run_id) as wiring:
        run_batch = run_batch_of(settings)
        request = wiring.request(reprocess=reprocess)
        return run_batch(partitions, request, wiring.ports, lambda outcome: None)


def _fields(day: Date, built: list[Outcome], night: Night) -> dict[str, object]:
    model = None if night.fit is None else night.fit.trained
    is_model = isinstance(model, TrainedModel)
    published = night.published
    status = published.status.value if isinstance(published, Publication) else "none"
    return {
        "date": day.isoformat(),
        "regions": dict(Counter(type(each).__name__.lower() for each in built)),
        "troubles": _troubles(built),
        "sealed": {each.region: each.cell.state.value for each in night.seal.regions},
        "window": night.verdict.kind.value,
        "window_reasons": list(night.verdict.reasons),
        "left_out": len(night.verdict.left_out),
        "model": model.version if is_model else None,
        "model_kind": model.kind if is_model else None,
        "dimension_problem": None if night.fit is None else night.fit.dimension_problem,
        "forecast_regions": sum(isinstance(each, ForecastWritten) for each in night.forecasts),
        "publication": status,
        "published": night.is_published,
    }


def _print(day: Date, built: list[Outcome], night: Night) -> None:
    fields = _fields(day, built, night)
    outcomes = Counter(type(each).__name__.lower() for each in built)
    states = Counter(each.cell.state.value for each in night.seal.regions)
    click.echo(f"regions      {_counted(outcomes) or 'left as they are'}")
    for region, reason in _troubles(built).items():
        click.echo(f"             {region}: {reason}")
    click.echo(f"seal         {_counted(states)}")
    click.echo(f"window       {fields['window']}, {fields['left_out']} left out")
    for reason in night.verdict.reasons:
        click.echo(f"             {reason}")
    click.echo(f"model        {fields['model_kind'] or 'none'}")
    click.echo(f"forecasts    {fields['forecast_regions']} regions")
    click.echo(f"publication  {fields['publication']}")
    if not night.is_published:
        click.echo(f"no forecast of {day} was published: {_why(night)}", err=True)
        click.echo("next: forecast-backfill quarantine list", err=True)


def _troubles(built: list[Outcome]) -> dict[str, str]:
    """Why a region was not written, by region."""
    return {
        each.partition.region: reason_of(each)
        for each in built
        if not isinstance(each, Written | Unchanged)
    }


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


def _why(night: Night) -> str:
    match night.published:
        case NothingToPublish(reason=reason):
            return reason
        case Publication(reasons=reasons):
            return "; ".join(reasons)
