"""`forecast-backfill quarantine list|show|retry`: the refused sources and what to do about them."""

from __future__ import annotations

import json
from datetime import datetime

import click

from forecast_backfill.app.campaign import plan_retry
from forecast_backfill.app.launch_room import refuse_without_room
from forecast_backfill.cli.launching import open_launchpad, run_launch
from forecast_backfill.core.errors import UsageRefused
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import Workload
from forecast_backfill.landing.reader import FileLanding
from forecast_backfill.settings import Settings, load_settings
from forecast_backfill.warehouse.quarantines import (
    Quarantine,
    find_quarantine,
    list_quarantines,
)
from forecast_backfill.wiring.lakehouse import plan_facts_of
from forecast_backfill.wiring.partition import open_session

JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group("quarantine")
def command() -> None:
    """List, show and retry refused sources."""


@command.command("list")
@click.option("--campaign", "campaign_id", help="Only those of one campaign.")
@click.option("--resolved", is_flag=True, help="Also those whose partition was written since.")
@JSON_OPTION
def list_command(campaign_id: str | None, resolved: bool, as_json: bool) -> int:
    """List the refused sources, each with its first reason."""
    with open_session(load_settings(), Workload.BACKFILL) as session:
        found = list_quarantines(session, campaign_id=campaign_id, only_open=not resolved)
    if as_json:
        click.echo(json.dumps([_fields(each) for each in found]))
        return 0
    for each in found:
        state = "" if each.resolved_at is None else " (resolved)"
        click.echo(f"{each.partition}{state}  {each.summary}")
    if not found:
        click.echo("nothing is quarantined")
    return 0


@command.command("show")
@click.argument("date", type=click.DateTime(["%Y-%m-%d"]), metavar="DATE")
@click.argument("region")
@JSON_OPTION
def show_command(date: datetime, region: str, as_json: bool) -> int:
    """Show every kept fault of one partition: quarantine show 2026-03-01 R07."""
    partition = Partition(date=date.date(), region=region)
    with open_session(load_settings(), Workload.BACKFILL) as session:
        found = find_quarantine(session, partition)
    if found is None:
        raise UsageRefused(
            f"{partition} is not quarantined",
            why="no source of it was ever refused",
            next_command="forecast-backfill quarantine list",
        )
    if as_json:
        click.echo(json.dumps(_fields(found)))
    else:
        _print(found)
    return 0


@command.command("retry")
@click.option("--all", "everything", is_flag=True, help="Also those whose source is unchanged.")
@click.option("--watch", is_flag=True, help="Follow it to its end, then judge it.")
@JSON_OPTION
def retry_command(everything: bool, watch: bool, as_json: bool) -> int:
    """Launch a backfill of the quarantined partitions whose source has changed since."""
    settings = load_settings()
    with open_launchpad(settings) as pad:
        refused = list_quarantines(pad.session)
        chosen = refused if everything else _changed(refused, settings)
        partitions = [each.partition for each in chosen]
        plan = plan_retry(partitions)
        facts = plan_facts_of(settings, pad.session)
        refuse_without_room(facts, partitions, rewrites=False)
        return run_launch(pad, plan, reprocess=False, watch=watch, as_json=as_json)


def _changed(refused: tuple[Quarantine, ...], settings: Settings) -> list[Quarantine]:
    landing = FileLanding(settings.landing_directory)
    return [each for each in refused if landing.read(each.partition).digest != each.source_digest]


def _print(found: Quarantine) -> None:
    when = f"{found.quarantined_at:%F %T}"
    click.echo(f"{found.partition}: {found.fault_total} faults, refused {when}")
    if found.resolved_at is not None:
        click.echo(f"  resolved {found.resolved_at:%F %T}: a later source was written")
    for fault in found.faults:
        click.echo(f"  {fault}")
    if found.fault_total > len(found.faults):
        click.echo(f"  … and {found.fault_total - len(found.faults)} more that were not kept")


def _fields(found: Quarantine) -> dict[str, object]:
    return {
        "date": found.partition.date.isoformat(),
        "region": found.partition.region,
        "summary": found.summary,
        "fault_total": found.fault_total,
        "fault_counts": {code.value: number for code, number in found.fault_counts.items()},
        "faults": [
            {
                "code": fault.code.value,
                "file": fault.file,
                "line": fault.line,
                "column": fault.column,
                "value": fault.value,
                "reason": fault.reason,
            }
            for fault in found.faults
        ],
        "source_digest": found.source_digest,
        "campaign_id": found.campaign_id,
        "run_id": found.run_id,
        "quarantined_at": found.quarantined_at.isoformat(),
        "resolved_at": None if found.resolved_at is None else found.resolved_at.isoformat(),
    }
