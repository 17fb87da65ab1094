"""Describes the machine and the versions on which something was measured."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import psutil

CHECKOUT = Path(__file__).resolve().parents[1]


def describe_machine(**more: str) -> str:
    """A list in Markdown; `more` adds lines, for example `PostgreSQL="18.1"`."""
    facts = {
        "Date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "Commit": _commit(),
        "CPU": f"{_cpu_model()}, {os.cpu_count()} cores",
        "Memory": f"{psutil.virtual_memory().total / 2**30:.1f} GiB",
        "Load when it ended": ", ".join(f"{each:.1f}" for each in psutil.getloadavg()),
        "System": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        "Dagster": version("dagster"),
        **more,
    }
    return "\n".join(f"- {name}: {value}" for name, value in facts.items())


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def _commit() -> str:
    def git(*arguments: str) -> str:
        command = ["git", "-C", str(CHECKOUT), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--", "forecast_backfill", "benchmarks/*.py")
        return git("rev-parse", "--short", "HEAD") + (" with changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
