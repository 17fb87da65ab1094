"""`daily_demand` as a Dagster run on Spark: the same events as without it."""

from __future__ import annotations

import pytest
from dagster import DagsterInstance, materialize

from forecast_backfill.dagster_defs.assets import build_daily_demand
from forecast_backfill.dagster_defs.partitions import build_date_regions
from forecast_backfill.dagster_defs.spark_runs import spark_resources
from forecast_backfill.settings import load_settings
from forecast_backfill.wiring.batch import OpenSpark
from forecast_backfill.wiring.partition import SystemClock, calendar_of, load_engine
from forecast_backfill_tests.dagster.conftest import Site
from forecast_backfill_tests.dagster.event_log import evaluations, materialized
from forecast_backfill_tests.spark.servers import ConnectServer

TAGS = {
    "dagster/asset_partition_range_start": "2026-03-03|R01",
    "dagster/asset_partition_range_end": "2026-03-03|R03",
}


def test_a_run_on_spark_tells_dagster_what_a_run_without_it_tells(
    connect: ConnectServer, connected: OpenSpark, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the three partitions the one with the decimal comma is refused, the others are built."""
    monkeypatch.setenv("FORECAST_BACKFILL_ENGINE", "spark")
    monkeypatch.setenv("FORECAST_BACKFILL_SPARK_MASTER", connect.master)
    settings = load_settings()
    partitions = build_date_regions(settings, calendar_of(settings, SystemClock()))
    asset = build_daily_demand(settings, partitions, load_engine(settings).code_version)
    before = len(connect.stages())
    with DagsterInstance.ephemeral() as instance:
        result = materialize(
            [asset],
            instance=instance,
            tags=TAGS,
            resources=spark_resources(settings),
            raise_on_error=False,
        )
        assert not result.success
        assert materialized(instance) == ["2026-03-03|R01", "2026-03-03|R03"]
        checks = evaluations(instance, "source_intact")
    refused = [key for key, check in checks.items() if not check.passed]
    assert refused == ["2026-03-03|R02"]
    assert len(connect.stages()) == before + 1
    # The run stopped its own session, not the one that this process had before.
    with connected() as session:
        assert session.conf.get("spark.scheduler.pool") == "backfill"
