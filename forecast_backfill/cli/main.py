"""`forecast-backfill`: finds the verb, and turns expected errors into one line and an exit code."""

from __future__ import annotations

import importlib
import json
import sys

import click

from forecast_backfill import __version__
from forecast_backfill.core.errors import ForecastBackfillError

VERBS: dict[str, str] = {
    "demo": "Run the main job on real grocery data and leave the UI running.",
    "up": "Start PostgreSQL, and with --dagster also Dagster.",
    "down": "Stop what `up` or the demo started.",
    "landing": "Land real grocery data as a retailer would.",
    "plan": "Size a campaign and look at what could stop it, before it is launched.",
    "backfill": "Launch a partition-range backfill through Dagster.",
    "status": "Show what was asked of each workload, what is the case, and how far all is.",
    "pause": "Start nothing new; campaigns stay, and wait.",
    "resume": "End a pause, and reset a tripped pace.",
    "cap": "Set how many slots backfill may hold, and its rows a second.",
    "kill": "End backfill at once: nothing that began can commit.",
    "quarantine": "List, show and retry refused sources.",
    "reconcile": "Prove what is stored anew, and name the rows that differ.",
    "export": "Write partitions as plain Parquet files, each one whole and proved.",
    "diagnose": "Find rows that were counted twice, in any PostgreSQL table.",
    "repair": "Collapse such rows to the newest version a key.",
    "rollback": "Put back what stood before a campaign, byte for byte.",
    "shadow": "Build a new version of daily_demand beside the live one, and swap.",
    "accept": "Free what a campaign replaced; it cannot be rolled back any more.",
    "simulate": "Replay nights and a campaign under several policies, and compare them.",
    "capacity": "Measure the slots that nightly needs, and the cap that follows.",
    "nightly": "Do one night by hand: build, seal, fit, forecast and publish.",
}
"""Each verb and its one-line help: `--help` then loads none of them."""


class LazyVerbs(click.Group):
    """A group that imports a verb's module only when the verb is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs in the order in which a newcomer meets them."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb's command, or None where there is no such verb."""
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"forecast_backfill.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of verbs without importing them."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


@click.group(cls=LazyVerbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="forecast-backfill")
def cli() -> None:
    """Rebuild historical forecast partitions beside the nightly run.

    Exit codes: 0 done, 1 refused or failed, 2 usage. Every verb takes --json.
    """


def main() -> None:
    """Run the command line; an expected error is one message and exit code 1."""
    try:
        code = cli(standalone_mode=False, prog_name="forecast-backfill")
    except click.exceptions.Abort:
        click.echo("stopped", err=True)
        code = 1
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except ForecastBackfillError as error:
        _show(error)
        code = 1
    sys.exit(code if isinstance(code, int) else 0)


def _show(error: ForecastBackfillError) -> None:
    if "--json" in sys.argv:
        fields = {
            "error": type(error).__name__,
            "what": error.what,
            "why": error.why,
            "next_command": error.next_command,
            "partition": None if error.partition is None else str(error.partition),
        }
        click.echo(json.dumps(fields))
        return
    where = f" [{error.partition}]" if error.partition is not None else ""
    click.echo(
        f"error: {error.what}{where}\n  why:  {error.why}\n  next: {error.next_command}", err=True
    )
