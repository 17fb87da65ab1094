"""What the verbs that turn a knob share: who turns it, the options, and what is printed."""

from __future__ import annotations

import getpass
import json
import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from forecast_backfill.core.errors import UsageRefused
from forecast_backfill.core.states import Workload
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.control import Knobs, change_knobs

F = TypeVar("F", bound=Callable[..., Any])


def user() -> str:
    """Who is at the command line."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run under a number that has no name
        return f"uid {os.getuid()}"


def reason_option(function: F) -> F:
    """`--reason TEXT`, which every turn of a knob needs."""
    return click.option(
        "--reason", required=True, callback=_checked_reason, help="Why, for whoever comes next."
    )(function)


def workload_option(function: F) -> F:
    """`--workload`, backfill where it is not given."""
    return click.option(
        "--workload",
        type=click.Choice([each.value for each in Workload]),
        default=Workload.BACKFILL.value,
        show_default=True,
        help="Whose knob.",
    )(function)


def json_option(function: F) -> F:
    """`--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


def turn(session: Session, workload: Workload, verb: str, *, reason: str, **knobs: Any) -> Knobs:
    """Turn a knob in the name of who is at the command line; what then holds."""
    with session.transaction() as connection:
        return change_knobs(connection, workload, verb, reason=reason, changed_by=user(), **knobs)


def knob_fields(knobs: Knobs) -> dict[str, object]:
    """The knobs for `--json`; a cap of None is automatic, a rate of None no limit."""
    return {
        "epoch": knobs.epoch,
        "intent": knobs.intent,
        "cap": knobs.cap,
        "rate": knobs.rate,
        "reason": knobs.reason,
        "changed_by": knobs.changed_by,
        "changed_at": knobs.changed_at.isoformat(),
    }


def say(lines: list[str], fields: Mapping[str, object], *, as_json: bool) -> None:
    """Print what was done, for people or as JSON."""
    click.echo(json.dumps(fields) if as_json else "\n".join(lines))


def _checked_reason(ctx: click.Context, option: click.Parameter, value: str) -> str:
    if value.strip():
        return value
    raise UsageRefused(
        "no reason was given",
        why="every turn of a knob is recorded with who and why",
        next_command=f'forecast-backfill {ctx.info_name} … --reason "deploy of the POS feed"',
    )
