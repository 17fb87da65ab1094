"""`forecast-backfill repair duplicates`: collapses doubled rows to the newest version a key."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, assert_never
from uuid import uuid4

import click

from forecast_backfill.app.diagnose import Collapsed, NotCollapsed, Planned, Repair, repair
from forecast_backfill.cli.doubled import doubled_options, shown_place, table_of
from forecast_backfill.warehouse.doubled_table import Asked

MOST_TIES = 10


@click.group("repair")
def command() -> None:
    """Repair what is wrong in a table; a dry run unless --apply; each command takes --json."""


@command.command("duplicates")
@doubled_options
@click.option("--apply", "is_applied", is_flag=True, help="Do it; else only say what would be.")
def duplicates_command(asked: Asked, database: str | None, as_json: bool, is_applied: bool) -> int:
    """Leave the newest row of every key of TABLE, one transaction a partition.

    Removed rows are kept in the table duplicate_removed of our schema, or, in a database that is
    not ours, in forecast_backfill_duplicate_removed beside TABLE. Each partition is reconciled
    before its commit. One where the newest rows of a key have one version and different values is
    left as it is, and they are listed; the exit code is then 1.
    """
    repair_id = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{uuid4().hex[:8]}"
    with table_of(asked, database) as table:
        show = (lambda each: None) if as_json else _show
        repairs = repair(table, repair_id=repair_id, is_dry=not is_applied, tell=show)
    refused = [each for each in repairs if isinstance(each, NotCollapsed)]
    removed = sum(each.removed for each in repairs if isinstance(each, Collapsed))
    planned = sum(each.removes for each in repairs if isinstance(each, Planned))
    if as_json:
        fields = {
            "repair_id": repair_id if is_applied else None,
            "removed": removed,
            "would_remove": planned,
            "refused": len(refused),
            "partitions": [_fields(each) for each in repairs],
        }
        click.echo(json.dumps(fields))
    else:
        _summarise(repair_id, removed, planned, len(refused), is_applied=is_applied)
    return 1 if refused else 0


def _summarise(
    repair_id: str, removed: int, planned: int, refused: int, *, is_applied: bool
) -> None:
    if is_applied:
        click.echo(
            f"removed {removed} rows, kept as repair {repair_id}; {refused} left as they are"
        )
        return
    click.echo(f"would remove {planned} rows; {refused} partitions would be left as they are")
    if planned:
        click.echo("next: the same command with --apply")


def _show(done: Repair) -> None:
    place = shown_place(done.place)
    match done:
        case Planned(removes=removes):
            click.echo(f"{place}  would remove {removes} rows")
        case Collapsed(removed=removed, left=left):
            click.echo(f"{place}  removed {removed} rows, {left} are left")
        case NotCollapsed(reason=reason, ties=ties):
            click.echo(f"{place}  left as it is: {reason}")
            for tie in ties[:MOST_TIES]:
                version = "" if tie.version is None else f" at version {tie.version}"
                click.echo(f"  {shown_place(tie.key)}  {tie.copies} rows{version}")
        case _:
            assert_never(done)


def _fields(done: Repair) -> dict[str, Any]:
    place = {"partition": list(done.place)}
    match done:
        case Planned(removes=removes):
            return {**place, "outcome": "planned", "would_remove": removes}
        case Collapsed(removed=removed, left=left):
            return {**place, "outcome": "collapsed", "removed": removed, "left": left}
        case NotCollapsed(reason=reason, ties=ties):
            tied = [
                {"key": list(tie.key), "rows": tie.copies, "version": tie.version} for tie in ties
            ]
            return {**place, "outcome": "refused", "reason": reason, "ties": tied}
