"""Every scenario folder, read from disk and prepared by the engine, comes out as expected."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from forecast_backfill.engines.pandas_engine import PandasEngine
from forecast_backfill.landing.reader import FileLanding
from forecast_backfill.ports import Prepared
from forecast_backfill_tests.scenarios.folders import (
    NAMES,
    PARTITION,
    expected_of,
    land_scenario,
    land_scenario_dimensions,
)


def outcome_of(name: str, directory: Path) -> dict[str, Any]:
    """The faults, or the rows and exclusions, of one scenario."""
    land_scenario_dimensions(directory)
    land_scenario(name, directory)
    landing = FileLanding(directory)
    result = PandasEngine().prepare(landing.read(PARTITION), landing.dimensions(PARTITION))
    if isinstance(result, Prepared):
        return {
            "rows": result.rows.drop_columns(["row_hash"]).to_pylist(),
            "exclusions": {name: asdict(each) for name, each in result.exclusions.items()},
        }
    return {
        "faults": [
            {
                "code": str(fault.code),
                "line": fault.line,
                "column": fault.column,
                "value": fault.value,
            }
            for fault in result.report.kept
        ]
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_scenario_comes_out_as_expected(name: str, tmp_path: Path) -> None:
    expected = expected_of(name)
    del expected["story"]
    assert outcome_of(name, tmp_path) == expected


def test_there_are_scenarios() -> None:
    assert len(NAMES) == 19
