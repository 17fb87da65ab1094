"""The real data, loaded once, and a folder into which four days of it were landed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date as Date
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from forecast_backfill.landing.complete_journey import LandingOrder, LandingSummary, land_loaded
from forecast_backfill.landing.journey_data import Journey, load_journey

NEW_YORK = ZoneInfo("America/New_York")
REGIONS = tuple(f"R{number:02d}" for number in range(1, 41))


LandDays = Callable[[LandingOrder], LandingSummary]


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
def land_days(journey: Journey) -> LandDays:
    """Lands an order from the data that is at hand."""
    return lambda order: land_loaded(journey, order, silent)


@pytest.fixture(scope="session")
def landed(land_days: LandDays, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four landed days, to be read only."""
    directory = tmp_path_factory.mktemp("landed")
    land_days(order_of(directory))
    return directory
