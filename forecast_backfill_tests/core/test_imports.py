"""What the core costs a process that imports it."""

import subprocess
import sys

import pytest

PROBE = (
    "import pkgutil, importlib, sys, forecast_backfill.core as core\n"
    "for each in pkgutil.iter_modules(core.__path__):\n"
    "    importlib.import_module(f'forecast_backfill.core.{each.name}')\n"
    "print(len(core.__path__), sorted({name.split('.')[0] for name in sys.modules}))\n"
)


@pytest.mark.parametrize("library", ["dagster", "pandas", "numpy", "pyarrow", "psycopg"])
def test_importing_the_whole_core_loads_no_library(library):
    shown = subprocess.run(
        [sys.executable, "-c", PROBE], check=True, capture_output=True, text=True
    ).stdout
    assert "forecast_backfill" in shown
    assert f"'{library}'" not in shown
