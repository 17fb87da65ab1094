"""Runs the bench of the commit step in a process of its own and keeps what it prints."""

from __future__ import annotations

import signal
import subprocess
import sys

import click

from benchmarks.interruption import undisturbed
from benchmarks.machine import CHECKOUT

STOP_SECONDS = 60.0


def run_commit_step() -> str:
    """What `python -m benchmarks.commit_step` prints.

    Raises ClickException where it fails. Interrupted, it is given the time to remove its server.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.commit_step"],
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        printed, complained = process.communicate()
    finally:
        if process.poll() is None:
            with undisturbed():
                process.send_signal(signal.SIGINT)
                process.communicate(timeout=STOP_SECONDS)
    if process.returncode != 0:
        raise click.ClickException(f"the commit step's bench failed: {complained.strip()}")
    return printed.strip()


def commit_step_markdown(printed: str, *, machine: str) -> str:
    """The section: the machine, the command and what it printed."""
    return "\n".join(
        [
            "## One partition: commit step and whole task",
            "",
            machine,
            "- Command: `python -m benchmarks.commit_step`",
            "",
            "Without Dagster, on an embedded server of its own; × is against bare COPY of the same "
            "rows by the same client into a table without an index. How it was measured: see the "
            "first lines of `benchmarks/commit_step.py`.",
            "",
            "```text",
            printed,
            "```",
        ]
    )
