"""One progress bar fed from the ledger; plain lines where the output is no terminal."""

from __future__ import annotations

import sys
import time

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from forecast_backfill.cli.progress_text import describe
from forecast_backfill.warehouse.campaigns import CampaignProgress

LINE_SECONDS = 10.0


class LiveBar:
    """Shows a campaign's progress on stderr; nothing where `quiet`."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._prints_lines = not quiet and not sys.stderr.isatty()
        self._next_line = 0.0
        self._last_line = ""
        self._bar = Progress(
            BarColumn(bar_width=30),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            disable=quiet or self._prints_lines,
        )
        self._task = self._bar.add_task("waiting for the first partition", total=None)

    def __enter__(self) -> LiveBar:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def update(self, progress: CampaignProgress, held: str | None = None) -> None:
        """Show the progress, and what it waits for: the bar at once, a line at most every ten
        seconds."""
        text = describe(progress) + (f" · waits for {held}" if held else "")
        self._bar.update(
            self._task,
            total=max(1, progress.requested),
            completed=progress.ended,
            description=text,
        )
        if self._prints_lines and time.monotonic() >= self._next_line and text != self._last_line:
            self._next_line = time.monotonic() + LINE_SECONDS
            self._last_line = text
            click.echo(text, err=True)
