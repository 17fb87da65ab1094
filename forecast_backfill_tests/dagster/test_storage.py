"""The classes that `dagster.yaml` names, as the daemon loads them."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = "('pandas', 'pyarrow', 'pyspark', 'numpy')"


@pytest.mark.parametrize(
    "module", ["forecast_backfill.dagster_defs.storage", "forecast_backfill.dagster_defs.run_queue"]
)
def test_a_class_of_dagster_yaml_loads_without_pandas_arrow_and_spark(module: str) -> None:
    program = f"import sys, {module}; print([name for name in {HEAVY} if name in sys.modules])"
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"
