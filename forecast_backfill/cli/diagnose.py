"""`forecast-backfill diagnose duplicates`: rows counted twice, in any PostgreSQL table."""

from __future__ import annotations

import json
from typing import Any

import click

from forecast_backfill.app.diagnose import Finding, diagnose
from forecast_backfill.cli.doubled import doubled_options, shown_place, table_of
from forecast_backfill.core.duplicates import Writer
from forecast_backfill.warehouse.doubled_table import Asked

MOST_SHOWN = 20
MOST_WRITERS = 10


@click.group("diagnose")
def command() -> None:
    """Look for what is wrong in a table, changing nothing; each command takes --json."""


@command.command("duplicates")
@doubled_options
def duplicates_command(asked: Asked, database: str | None, as_json: bool) -> int:
    """Find keys of TABLE that are there more than once: how often, by which writers, when.

    TABLE is [schema.]name in the project's database or the one of --database. The exit code is 1
    where any key is doubled.
    """
    with table_of(asked, database) as table:
        found = diagnose(table)
    if as_json:
        click.echo(json.dumps([_fields(each) for each in found]))
        return 1 if found else 0
    for each in found[:MOST_SHOWN]:
        _show(each)
    if not found:
        click.echo("no key is there more than once")
        return 0
    surplus = sum(each.copies.surplus for each in found)
    more = f" ({len(found) - MOST_SHOWN} not shown)" if len(found) > MOST_SHOWN else ""
    click.echo(f"{len(found)} partitions{more} with {surplus} rows too many")
    click.echo("next: forecast-backfill repair duplicates … (a dry run without --apply)")
    return 1


def _show(found: Finding) -> None:
    click.echo(f"{shown_place(found.copies.place)}  {found.signature.kind}: "
               f"{found.signature.reason}")  # fmt: skip
    if found.copies.ties:
        click.echo(f"  {found.copies.ties} keys have no newest row: versions tie, values differ")
    for writer in found.writers[:MOST_WRITERS]:
        click.echo(f"  {writer.rows} rows by {_described(writer)}")
    if len(found.writers) > MOST_WRITERS:
        click.echo(f"  and {len(found.writers) - MOST_WRITERS} more writers")


def _described(writer: Writer) -> str:
    name = f"{writer.name}, " if writer.name is not None else ""
    if writer.at is not None:
        when = f"committed {writer.at:%F %T} UTC"
    elif writer.first is not None:
        when = writer.first if writer.first == writer.last else f"{writer.first} to {writer.last}"
    else:
        when = "when is unknown"
    who = name or ("" if writer.is_known else "an unknown writer, ")
    return f"{who}transaction {writer.transaction}, {when}"


def _fields(found: Finding) -> dict[str, Any]:
    copies, signature = found.copies, found.signature
    return {
        "partition": list(copies.place),
        "kind": signature.kind,
        "factor": signature.factor,
        "reason": signature.reason,
        "rows": copies.rows,
        "keys": copies.keys,
        "doubled_keys": copies.doubled,
        "surplus_rows": copies.surplus,
        "ties": copies.ties,
        "writers": [
            {
                "writer": writer.name,
                "transaction": writer.transaction,
                "rows": writer.rows,
                "committed_at": None if writer.at is None else writer.at.isoformat(),
                "first": writer.first,
                "last": writer.last,
                "is_known": writer.is_known,
            }
            for writer in found.writers
        ],
    }
