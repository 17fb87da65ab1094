"""A small campaign whose rows are in a lakehouse, for whoever spoils it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from forecast_backfill.core.states import Workload
from forecast_backfill.settings import Settings
from forecast_backfill.wiring.partition import Wiring, open_wiring
from forecast_backfill_tests.app.campaigns import land_campaign, run_campaign, settings_for
from forecast_backfill_tests.lakehouse.spoilt import PARTITIONS


@pytest.fixture(autouse=True)
def _quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forecast_backfill.warehouse_delta.demand.WAIT_SECONDS", 0.01)


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    """The campaign landed, and nothing run."""
    land_campaign(tmp_path, PARTITIONS)
    return settings_for(database_url, tmp_path, warehouse="delta")


@pytest.fixture
def wiring(settings: Settings) -> Iterator[Wiring]:
    """The campaign run, and what another run is handed."""
    run_campaign(settings, PARTITIONS)
    with open_wiring(settings, workload=Workload.BACKFILL, run_id="5f0c") as opened:
        yield opened
