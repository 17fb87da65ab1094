"""`forecast-backfill export`: partitions as plain Parquet files, each one whole and proved."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import click

from forecast_backfill.app.export import Exported, export
from forecast_backfill.cli.chosen_range import DATE, dates_of, refuse_long, regions_of
from forecast_backfill.core.export import LeftOut, Wanted
from forecast_backfill.core.partition import partitions_of
from forecast_backfill.settings import load_settings
from forecast_backfill.wiring.export import open_export
from forecast_backfill.wiring.partition import retry_interrupted

SHOWN = 20


@click.command("export")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--from", "start", type=DATE, metavar="YYYY-MM-DD", help="Else the first date.")
@click.option("--to", "end", type=DATE, metavar="YYYY-MM-DD", help="Exclusive; else all dates.")
@click.option("--regions", default="all", show_default=True, help="Names by commas, or all.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    folder: Path, start: datetime | None, end: datetime | None, regions: str, as_json: bool
) -> int:
    """Write [--from, --to) of daily_demand into FOLDER as date=…/region=…/daily_demand.parquet.

    All of it is as of one moment. Each file is proved against the ledger and replaced by a rename,
    so a reader finds it whole, old or new; FOLDER/_export.json, written last, lists what is there.
    What is there already stays; stopped anywhere, it is run again.

    A partition without a current output (quarantined, stale, never built) is left out and named,
    its file of an earlier export is removed, and the exit code is 1.
    """
    settings = load_settings()
    named = regions_of(regions, settings, verb="export FOLDER")
    chosen = settings.regions if named is None else named
    with open_export(settings) as wiring:
        dates = dates_of(start, end, wiring.calendar, verb="export FOLDER")
        refuse_long(dates, verb="export FOLDER")
        with wiring.into(folder) as ports:
            done = retry_interrupted(partial(export, list(partitions_of(dates, chosen)), ports))
    if as_json:
        click.echo(json.dumps(_fields(folder, done)))
    else:
        _print(folder, done)
    return 1 if done.left_out else 0


def _fields(folder: Path, done: Exported) -> dict[str, object]:
    return {
        "folder": str(folder),
        "state": done.manifest.state.value,
        "as_of": done.manifest.as_of.astimezone(UTC).isoformat(),
        "written": len(done.written),
        "unchanged": len(done.unchanged),
        "removed": sum(each.is_removed for each in done.left_out),
        "rows": _rows((*done.written, *done.unchanged)),
        "left_out": [
            {
                "date": each.partition.date.isoformat(),
                "region": each.partition.region,
                "reason": each.reason,
                "removed": each.is_removed,
            }
            for each in done.left_out
        ],
    }


def _print(folder: Path, done: Exported) -> None:
    click.echo(
        f"{folder}: {len(done.written)} partitions written, {len(done.unchanged)} unchanged · "
        f"{_rows((*done.written, *done.unchanged)):,} rows · "
        f"as of {done.manifest.as_of:%Y-%m-%d %H:%M:%S} UTC · {done.manifest.state}"
    )
    if not done.left_out:
        return
    click.echo(f"{len(done.left_out)} were left out:", err=True)
    for each in done.left_out[:SHOWN]:
        click.echo(f"  {_line(each)}", err=True)
    if len(done.left_out) > SHOWN:
        click.echo(f"  … and {len(done.left_out) - SHOWN} more (--json names all)", err=True)


def _line(left_out: LeftOut) -> str:
    removed = " (its file is removed)" if left_out.is_removed else ""
    return f"{left_out.partition}  {left_out.reason}{removed}"


def _rows(partitions: Sequence[Wanted]) -> int:
    return sum(each.fingerprint.rows for each in partitions)
