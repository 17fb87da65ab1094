"""A run with the tags of an overlap merges beside nightly, and Dagster is told so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from dagster import DagsterInstance, ExecuteInProcessResult, materialize

from forecast_backfill.dagster_defs.assets import build_daily_demand
from forecast_backfill.dagster_defs.partitions import build_date_regions
from forecast_backfill.settings import load_settings
from forecast_backfill.wiring.partition import SystemClock, calendar_of, load_engine
from forecast_backfill_tests.app.test_overlap import ledger
from forecast_backfill_tests.dagster.conftest import Site
from forecast_backfill_tests.postgres.rows import fetch

DAY = "2026-03-04|R01"
NIGHTLY = {"forecast_backfill/workload": "nightly"}
CORRECTION = {"forecast_backfill/overlap": "true", "forecast_backfill/winner": "correction"}


@pytest.fixture
def run(site: Site, database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Runs the partition in process; the seam lies at its date."""
    monkeypatch.setenv("FORECAST_BACKFILL_SEAM", "2026-03-04")
    monkeypatch.setenv("FORECAST_BACKFILL_DATABASE_URL", database)
    with DagsterInstance.ephemeral() as instance:

        def materialized(tags: dict[str, str]) -> ExecuteInProcessResult:
            settings = load_settings()
            partitions = build_date_regions(settings, calendar_of(settings, SystemClock()))
            asset = build_daily_demand(settings, partitions, load_engine(settings).code_version)
            return materialize(
                [asset], instance=instance, tags=tags, partition_key=DAY, raise_on_error=False
            )

        yield materialized


def told(result: ExecuteInProcessResult) -> dict[str, Any]:
    (event,) = result.get_asset_materialization_events()
    found = event.step_materialization_data.materialization.metadata
    return {
        name: each.value for name, each in found.items() if name.startswith(("outcome", "rows_"))
    }


def test_a_correction_of_nightlys_date_is_a_numbered_campaign_and_tells_its_merge(run, database):
    assert run(NIGHTLY).success
    result = run(CORRECTION)
    assert result.success
    found = told(result)
    assert found["outcome"] == "merged"
    assert (found["rows_inserted"], found["rows_updated"], found["rows_deleted"]) == (0, 2, 0)
    campaigns = fetch(database, "SELECT campaign_id, winner, number FROM campaign")
    assert campaigns == [(result.run_id, "correction", 1)]
    assert ledger(database, "output_authority, output_revision, is_merged") == [(30, 1, True)]


def test_without_an_overlap_a_campaign_is_refused_at_the_seam(run, database):
    assert run(NIGHTLY).success
    assert not run({}).success
    assert ledger(database, "output_authority, is_merged") == [(20, False)]


def test_a_nightly_run_with_the_tags_of_an_overlap_writes_nothing(run, database):
    result = run(NIGHTLY | CORRECTION)
    assert not result.success
    with psycopg.connect(database) as connection:
        rows = connection.execute("SELECT count(*) FROM forecast_backfill.daily_demand").fetchone()
    assert rows == (0,)
