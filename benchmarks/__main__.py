"""`python -m benchmarks`: campaigns through the real daemon, bare COPY, and the commit step."""

from __future__ import annotations

import sys
import tempfile
from datetime import timedelta
from pathlib import Path

import click

from benchmarks.bare_copy import measure_bare_copy
from benchmarks.campaign import run_campaign
from benchmarks.campaign_report import CampaignReport
from benchmarks.commit_step_section import commit_step_markdown, run_commit_step
from benchmarks.interruption import end_on_signals
from benchmarks.machine import describe_machine
from benchmarks.results import RESULTS, write_section
from benchmarks.site import AS_OF, FIRST_DATE, forget_settings, running_site
from forecast_backfill.cli.landing import land_with_progress, order_of
from forecast_backfill.core.errors import ForecastBackfillError
from forecast_backfill.core.partition import DateRange
from forecast_backfill.settings import load_settings
from forecast_backfill.warehouse.connect import resolve_database_url

DAYS, REGIONS, SAMPLE = 90, 40, 40
LONGEST = (AS_OF - FIRST_DATE).days


@click.command()
@click.option("--days", type=click.IntRange(1, LONGEST), default=DAYS, show_default=True)
@click.option("--regions", type=click.IntRange(1, REGIONS), default=REGIONS, show_default=True)
@click.option(
    "--sample",
    type=click.IntRange(min=2),
    default=SAMPLE,
    show_default=True,
    help="Partitions that are also done with one run each; rounded to whole days.",
)
@click.option("--output", type=click.Path(path_type=Path), default=RESULTS, show_default=True)
@click.option("--commit-step/--no-commit-step", default=True, show_default=True)
def main(days: int, regions: int, sample: int, output: Path, commit_step: bool) -> int:
    """Measure a campaign of --days × --regions partitions, and write RESULTS.md.

    The exit code is 1 where a figure was missed, 2 for wrong options. Nothing but RESULTS.md is
    left behind, also after Ctrl-C.
    """
    if days * regions < 2:
        raise click.UsageError("one partition has no rate: ask for two at least")
    command = _command(days=days, regions=regions, sample=sample)
    forget_settings()
    # Made by root, the folder is opened for the server's user to pass, no more.
    with tempfile.TemporaryDirectory(prefix="fb-bench-", ignore_cleanup_errors=True) as folder:
        report = measure(Path(folder), days=days, regions=regions, sample=sample)
    machine = describe_machine(PostgreSQL=f"{report.bare.server_version}, embedded")
    write_section("campaign", report.as_markdown(command=command, machine=machine), output)
    if commit_step:
        click.echo("the commit step", err=True)
        printed = run_commit_step()
        markdown = commit_step_markdown(printed, machine=describe_machine())
        write_section("commit_step", markdown, output)
    click.echo(f"written: {output}")
    for name, value, limit, is_reached in report.verdicts if report.is_full_size else ():
        click.echo(f"{'reached' if is_reached else 'MISSED'}: {name} {value}, {limit}")
    has_missed = report.is_full_size and not all(each[3] for each in report.verdicts)
    return 1 if has_missed else 0


def measure(root: Path, *, days: int, regions: int, sample: int) -> CampaignReport:
    """Land once, then run both campaigns one after the other, each on a site of its own."""
    names = load_settings().regions[:regions]
    dates = DateRange(start=AS_OF - timedelta(days=days), end=AS_OF)
    landing = root / "landing"
    settings = load_settings(landing=landing, home=root / "home")
    as_of = dates.end - timedelta(days=1)
    land_with_progress(order_of(settings, days=days, as_of=as_of, landed=names))
    with running_site(
        root=root / "batched", landing=landing, batch_size=settings.batch_size
    ) as site:
        click.echo(f"{days} days × {regions} regions in batches", err=True)
        batched = run_campaign(site, dates, names)
        bare = measure_bare_copy(resolve_database_url(site.settings), site.root)
    sampled = names[: min(sample, regions)]
    start = dates.end - timedelta(days=min(days, max(1, round(sample / len(sampled)))))
    with running_site(root=root / "single", landing=landing, batch_size=1) as site:
        click.echo("one run a partition, a sample", err=True)
        single = run_campaign(site, DateRange(start=start, end=dates.end), sampled)
    return CampaignReport(batched=batched, single=single, bare=bare)


def _command(**options: int) -> str:
    if options == {"days": DAYS, "regions": REGIONS, "sample": SAMPLE}:
        return "make bench"
    return " ".join(
        ["python -m benchmarks", *(f"--{name} {each}" for name, each in options.items())]
    )


def run() -> None:
    """Run the command; what can be expected to go wrong is one message."""
    end_on_signals()
    try:
        code = main(prog_name="python -m benchmarks", standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("stopped; nothing is left behind", err=True)
        code = 1
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except ForecastBackfillError as error:
        click.echo(
            f"error: {error.what}\n  why:  {error.why}\n  next: {error.next_command}", err=True
        )
        code = 1
    sys.exit(code)


if __name__ == "__main__":
    run()
