"""`forecast-backfill shadow`: a new version of daily_demand, built beside the live and swapped."""

from __future__ import annotations

import json
from datetime import date as Date
from pathlib import Path
from uuid import uuid4

import click

from forecast_backfill.app.fill_shadow import fill_all
from forecast_backfill.app.launch_room import refuse_without_room
from forecast_backfill.app.plan_shadow import ShadowPlan, plan_fill
from forecast_backfill.app.shadow import Stepped, current, drop, revert, swap, validate
from forecast_backfill.cli.launching import open_launchpad, run_launch
from forecast_backfill.cli.shadow_text import (
    fields_of,
    filled_fields,
    filled_lines,
    line_of,
    validation_fields,
    validation_lines,
)
from forecast_backfill.cli.turning import json_option, reason_option, say, user
from forecast_backfill.core.errors import UsageRefused
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.shadow import ShadowState, held_definition, read_definition
from forecast_backfill.core.shadow_check import DuePartition, require_followed
from forecast_backfill.core.states import Workload
from forecast_backfill.ports.shadow import By
from forecast_backfill.settings import Settings, load_settings
from forecast_backfill.wiring.lakehouse import plan_facts_of
from forecast_backfill.wiring.partition import calendar_in, open_wiring
from forecast_backfill.wiring.process_priority import lower_priority
from forecast_backfill.wiring.shadow import ShadowWiring, open_shadows, pauses

NEXT_BACKFILL = "forecast-backfill shadow backfill"


@click.group("shadow")
def command() -> None:
    """Build a new version of daily_demand beside the live one, and let readers go over at once.

    Readers go through the name daily_demand_for_readers. Each command takes --json.
    """


@command.command("start")
@click.option(
    "--definition",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A TOML file: [columns.NAME] with type, from (SQL over a live row), not_null.",
)
@click.option("--hold", is_flag=True, help="The columns as they are, held once they are read.")
@reason_option
@json_option
def start_command(definition: Path | None, hold: bool, reason: str, as_json: bool) -> int:
    """Make the shadow's table; from now on every writer writes both.

    The expressions are the operator's own SQL: PostgreSQL judges them, nobody restricts what the
    functions in them may do.

    With --hold the shadow has the columns of daily_demand. Once readers read it, only nightly's
    writes come into it: a campaign may rebuild daily_demand in place, and `shadow revert` lets
    readers go over to all of it at once.
    """
    if hold is (definition is not None):
        raise click.UsageError("give --definition FILE or --hold")
    declared = held_definition()
    if definition is not None:
        declared = read_definition(definition.read_text("utf-8"))
    with open_shadows(load_settings()) as wiring:
        shadow_id = wiring.shadows.start(declared, By(name=user(), reason=reason))
        due = len(wiring.shadows.due(shadow_id))
    say(
        [f"shadow {shadow_id} is written from now on; {due} partitions are to be filled",
         f"  next: {NEXT_BACKFILL}"],
        {"shadow_id": shadow_id, "state": ShadowState.BUILDING.value, "due": due},
        as_json=as_json,
    )  # fmt: skip
    return 0


@command.command("backfill")
@click.option("--here", is_flag=True, help="In this process, without Dagster.")
@click.option("--watch", is_flag=True, help="Follow the campaign to its end, then judge it.")
@click.option("--reason", default="fill the shadow", show_default=True, help="Why.")
@json_option
def backfill_command(here: bool, watch: bool, reason: str, as_json: bool) -> int:
    """Launch an ordinary campaign over the partitions that the shadow does not hold yet.

    What no campaign comes to (nightly's dates, outputs below a refused source) is filled here, as
    a task of backfill. A partition whose source or code has changed is rebuilt as by any campaign.
    """
    settings = load_settings()
    with open_shadows(settings) as wiring:
        shadow = current(wiring.shadows)
        held = shadow.definition.is_held
        require_followed(shadow.shadow_id, shadow.state, is_held=held)
        due = wiring.shadows.due(shadow.shadow_id)
        facts = plan_facts_of(settings, wiring.session)
        # The shadow takes as much again of what is done as well.
        refuse_without_room(facts, [each.partition for each in due], rewrites=True)
        calendar = calendar_in(wiring.session, settings, wiring.clock)
        plan = ShadowPlan(launch=None, beside=due)
        if not here:
            plan = plan_fill(
                due, shadow_id=shadow.shadow_id, calendar=calendar, known=settings.regions
            )
        by = By(name=user(), reason=reason)
        wiring.shadows.note_backfill(shadow.shadow_id, by, partitions=len(due))
    code = _fill(plan, settings, as_json=as_json)
    if plan.launch is None:
        return code
    with open_launchpad(settings) as pad:
        launched = run_launch(pad, plan.launch, reprocess=False, watch=watch, as_json=as_json)
    return max(code, launched)


def _fill(plan: ShadowPlan, settings: Settings, *, as_json: bool) -> int:
    """Fill what no campaign comes to; where there is one, only its own lines go to the output."""
    filled = []
    if plan.beside:
        with open_wiring(
            settings, workload=Workload.BACKFILL, run_id=f"shadow-{uuid4()}"
        ) as wiring:
            lower_priority(Workload.BACKFILL, settings)
            filled = fill_all(plan.beside, wiring.request(), wiring.ports, lambda each: None)
    failed = [each for each in filled if each.trouble is not None]
    if not as_json:
        for text in filled_lines(filled) if filled or plan.launch is None else ():
            click.echo(text)
    elif plan.launch is None:
        click.echo(json.dumps(filled_fields(filled)))
    return 1 if failed else 0


@command.command("validate")
@click.option("--leave-out", "left_out", multiple=True, metavar="YYYY-MM-DD|Rnn",
              help="A partition without which readers may go over; give --reason.")  # fmt: skip
@click.option("--reason", help="Why something is left out.")
@json_option
def validate_command(left_out: tuple[str, ...], reason: str | None, as_json: bool) -> int:
    """Compare every partition with the live one by the mapping: row count and checksum.

    Partitions that differ are named, and due for the next `shadow backfill`; the exit code is
    then 1.
    """
    chosen = [_partition(text) for text in left_out]
    if chosen and not (reason or "").strip():
        raise click.UsageError("--leave-out needs --reason")
    by = By(name=user(), reason=reason or "validate")
    with open_shadows(load_settings()) as wiring:
        shadow = current(wiring.shadows)
        for each in chosen:
            wiring.shadows.leave_out(shadow.shadow_id, each, by)
        found, state = validate(shadow, by, wiring.shadows, lambda count: None)
    say(
        list(validation_lines(shadow.shadow_id, found, state)),
        validation_fields(shadow.shadow_id, found, state),
        as_json=as_json,
    )
    return 1 if found.differing else 0


@command.command("swap")
@reason_option
@json_option
def swap_command(reason: str, as_json: bool) -> int:
    """Let readers read the shadow, in one short transaction that is tried until it gets through.

    Refused until every partition is there and validated, or left out. Both stay written.
    """
    with open_shadows(load_settings()) as wiring:
        by = By(name=user(), reason=reason)
        done = swap(current(wiring.shadows), by, wiring.versions, wiring.clock, pauses())
    nexts = 'forecast-backfill shadow revert --reason "…", or shadow drop --earlier to keep it'
    return _stepped(done, f"readers read shadow {done.shadow_id}", nexts, as_json=as_json)


@command.command("revert")
@reason_option
@json_option
def revert_command(reason: str, as_json: bool) -> int:
    """Let readers read the earlier version at once; nothing written since the swap is lost."""
    with open_shadows(load_settings()) as wiring:
        by = By(name=user(), reason=reason)
        done = revert(current(wiring.shadows), by, wiring.versions, wiring.clock, pauses())
    told = f"readers read the version before shadow {done.shadow_id}, which is still written"
    return _stepped(done, told, "forecast-backfill shadow validate, or drop", as_json=as_json)


@command.command("drop")
@click.option("--earlier", is_flag=True, help="Keep the shadow that is read for good; no way back.")
@reason_option
@json_option
def drop_command(earlier: bool, reason: str, as_json: bool) -> int:
    """Drop the side that is not read: the shadow, or after a swap the --earlier version.

    The side that is read is refused. The table daily_demand stays, as the engine writes it.
    """
    with open_shadows(load_settings()) as wiring:
        done = drop(
            current(wiring.shadows),
            By(name=user(), reason=reason),
            wiring.versions,
            wiring.clock,
            pauses(),
            is_earlier=earlier,
        )
    told = f"shadow {done.shadow_id} was dropped"
    if earlier:
        told = f"shadow {done.shadow_id} is kept, and the version before it is gone"
    return _stepped(done, told, "forecast-backfill shadow status", as_json=as_json)


@command.command("status")
@json_option
def status_command(as_json: bool) -> int:
    """Show every shadow: its state, its last step with who and why, and what it lacks."""
    with open_shadows(load_settings()) as wiring:
        found = [(each, _due_of(wiring, each.shadow_id, each.state))
                 for each in wiring.shadows.list()]  # fmt: skip
    if as_json:
        click.echo(json.dumps([fields_of(shadow, due) for shadow, due in found]))
        return 0
    for shadow, due in found:
        click.echo(line_of(shadow, due))
    if not any(shadow.state in (ShadowState.SWAPPED, ShadowState.ADOPTED) for shadow, _ in found):
        click.echo("readers read daily_demand")
    return 0


def _due_of(wiring: ShadowWiring, shadow_id: int, state: ShadowState) -> tuple[DuePartition, ...]:
    return () if state is ShadowState.DROPPED else wiring.shadows.due(shadow_id)


def _stepped(done: Stepped, told: str, nexts: str, *, as_json: bool) -> int:
    milliseconds = done.held_seconds * 1000
    say(
        [f"{told}; {done.tries} tries, the last held others up for {milliseconds:.0f} ms at most",
         f"  next: {nexts}"],
        {"shadow_id": done.shadow_id, "tries": done.tries, "held_ms": round(milliseconds, 1)},
        as_json=as_json,
    )  # fmt: skip
    return 0


def _partition(text: str) -> Partition:
    date, _, region = text.partition("|")
    try:
        return Partition(date=Date.fromisoformat(date), region=region or "?")
    except ValueError as error:
        raise UsageRefused(
            f"{text!r} is no partition",
            why="a partition is written YYYY-MM-DD|Rnn",
            next_command="forecast-backfill shadow validate --leave-out '2026-11-02|R07' …",
        ) from error
