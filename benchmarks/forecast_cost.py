"""Time and peak memory of one night's fit and forecast, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from datetime import date as Date
from pathlib import Path

import numpy as np

from forecast_backfill.forecasting.model import Plan, fit, forecast
from forecast_backfill.forecasting.panel import Panel

ALWAYS = Plan(tolerance=float("inf"))
"""The dearest night: the guard's fit and the fit itself."""


def describe_cost(panel: Panel) -> str:
    """A sentence with the figures of one night on `panel`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "panel.npz"
        np.savez(
            path,
            units=panel.units,
            promotions=panel.promotions,
            regions=panel.regions,
            groups=panel.groups,
            first=panel.first.toordinal(),
        )
        command = [sys.executable, "-m", "benchmarks.forecast_cost", str(path)]
        ran = subprocess.run(command, check=True, capture_output=True, text=True)
    cost = json.loads(ran.stdout)
    return (
        f"One night, {len(panel.regions)} regions × {len(panel.groups)} groups: guard, fit and "
        f"forecast {cost['first']:.2f} s with LightGBM's import ({cost['import']:.2f} s), "
        f"{cost['again']:.2f} s once loaded; peak memory {cost['peak_mib']:.0f} MiB."
    )


def measure(path: Path) -> dict[str, float]:
    """Seconds and peak memory of the night stored at `path`."""
    stored = np.load(path)
    panel = Panel(
        regions=tuple(stored["regions"].tolist()),
        groups=tuple(stored["groups"].tolist()),
        first=Date.fromordinal(int(stored["first"])),
        units=stored["units"],
        promotions=stored["promotions"],
    )
    started = time.perf_counter()
    import lightgbm  # noqa: F401

    imported = time.perf_counter()
    forecast(fit(panel, ALWAYS), panel)
    done = time.perf_counter()
    forecast(fit(panel, ALWAYS), panel)
    return {
        "import": imported - started,
        "first": done - started,
        "again": time.perf_counter() - done,
        "peak_mib": peak_kib() / 1024,
    }


def peak_kib() -> int:
    """The most memory this process has held; ru_maxrss would count what its parent held too."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(Path(sys.argv[1]))))
