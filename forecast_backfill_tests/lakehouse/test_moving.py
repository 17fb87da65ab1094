"""Moves between PostgreSQL and the lakehouse, and what a rollback says of them."""

from __future__ import annotations

import pytest

from forecast_backfill.app.rollback import roll_back
from forecast_backfill.app.run_partition import run_batch
from forecast_backfill.core.rollback import Left
from forecast_backfill.core.states import Workload
from forecast_backfill.settings.lakehouse import WarehouseKind
from forecast_backfill.wiring.partition import open_wiring
from forecast_backfill.wiring.rollback import open_rollback
from forecast_backfill_tests.app.campaigns import land_campaign, settings_for, stored_rows
from forecast_backfill_tests.lakehouse.deltas import PARTITION
from forecast_backfill_tests.postgres.rows import fetch


@pytest.fixture
def postgres(database_url, tmp_path):
    land_campaign(tmp_path, [PARTITION])
    return settings_for(database_url, tmp_path)


@pytest.fixture
def delta(postgres):
    return postgres.model_copy(update={"warehouse": WarehouseKind.DELTA})


def write(settings, campaign):
    with open_wiring(settings, workload=Workload.BACKFILL, run_id=campaign) as wiring:
        request = wiring.request(campaign_id=campaign)
        (outcome,) = run_batch([PARTITION], request, wiring.ports, lambda told: None)
    return type(outcome).__name__


def rollback(settings, campaign):
    with open_rollback(settings, run_id="rollback-1") as wiring:
        found = wiring.ports.rollbacks.list(campaign)
        return roll_back(found, campaign, wiring.request(campaign), wiring.ports, lambda told: None)


@pytest.mark.parametrize("quantity", ["2", "3"])
def test_a_campaign_that_moved_rows_out_of_the_lakehouse_is_not_rolled_back(
    quantity, postgres, delta, database_url, tmp_path
):
    assert write(delta, "there") == "Written"
    land_campaign(tmp_path, [PARTITION], quantity=quantity)
    assert write(postgres, "back") == "Written"
    assert fetch(database_url, "SELECT kept_rows FROM superseded_partition") == [(0,)]
    rows = stored_rows(database_url)
    (outcome,) = rollback(postgres, "back")
    assert isinstance(outcome, Left)
    assert "lay in the lakehouse" in outcome.reason
    assert stored_rows(database_url) == rows
    assert write(postgres, "again") == "Unchanged"


def test_what_was_kept_before_a_move_there_is_left(postgres, delta, database_url, tmp_path):
    assert write(postgres, "first") == "Written"
    land_campaign(tmp_path, [PARTITION], quantity="3")
    assert write(postgres, "second") == "Written"
    assert write(delta, "there") == "Written"
    (outcome,) = rollback(postgres, "second")
    assert isinstance(outcome, Left)
    assert "there has written it since" in outcome.reason
    assert stored_rows(database_url) == []
