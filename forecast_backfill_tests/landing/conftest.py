"""The real data, loaded once, and a folder into which four days of it were landed."""

from __future__ import annotations

from datetime import date as Date
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from forecast_backfill.landing.complete_journey import LandingOrder, land_journey
from forecast_backfill.landing.journey_data import Journey, load_journey

NEW_YORK = ZoneInfo("America/New_York")
REGIONS = tuple(f"R{number:02d}" for number in range(1, 41))


def order_of(directory: Path, **changes: object) -> LandingOrder:
    """Four days up to Saturday 2026-11-28, all regions."""
    fields: dict[str, object] = {
        "directory": directory,
        "zone": NEW_YORK,
        "regions": REGIONS,
        "landed": REGIONS,
        "as_of": Date(2026, 11, 28),
        "days": 4,
    }
    return LandingOrder(**(fields | changes))


def silent(stage: str, done: int, total: int) -> None:
    """Progress that nobody looks at."""


@pytest.fixture(scope="session")
def journey() -> Journey:
    return load_journey(NEW_YORK)


@pytest.fixture(scope="session")
def landed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four landed days, to be read only."""
    directory = tmp_path_factory.mktemp("landed")
    land_journey(order_of(directory), silent)
    return directory
