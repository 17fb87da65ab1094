"""The scenario folders: what was landed, and what must come of it.

A folder holds `landed/` (the bytes of one partition's folder) and `expected.json`: a story, and
either `faults` (code, line, column, value) or `rows` with `exclusions`.
"""

from __future__ import annotations

import json
import shutil
from datetime import date as Date
from pathlib import Path
from typing import Any

from forecast_backfill.core.partition import Partition
from forecast_backfill.landing.layout import Layout
from forecast_backfill_tests.landing.hand_made import land_dimensions, land_promotions

PARTITION = Partition(date=Date(2026, 3, 1), region="R01")
FOLDERS = Path(__file__).parent
NAMES = tuple(sorted(path.parent.name for path in FOLDERS.glob("*/expected.json")))


def expected_of(name: str) -> dict[str, Any]:
    """What must come of the scenario."""
    return json.loads((FOLDERS / name / "expected.json").read_text("utf-8"))


def land_scenario(name: str, directory: Path, partition: Partition = PARTITION) -> Path:
    """Copy what the scenario lands into the partition's folder, and return that folder.

    The manifests speak of PARTITION.
    """
    folder = Layout(directory=directory).partition(partition)
    shutil.copytree(FOLDERS / name / "landed", folder, dirs_exist_ok=True)
    return folder


def land_scenario_dimensions(directory: Path) -> None:
    """Land the dimensions that all scenarios share."""
    land_dimensions(
        directory,
        products=[
            {"product_id": "1001", "demand_group": "MILK"},
            {"product_id": "0012", "demand_group": "EGGS"},
            {"product_id": "NA", "demand_group": "BREAD"},
            {"product_id": "null", "demand_group": "BREAD"},
            {"product_id": "2001", "demand_group": "ALL OTHER", "exclusion": "fuel"},
        ],
        stores=[("0007", "R01"), ("0008", "R01"), ("0009", "R02")],
    )
    land_promotions(directory, PARTITION.date, PARTITION.region, [("0007", "1001", True, False)])
