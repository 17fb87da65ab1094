"""The events of one partition in one transaction: all or none, stored as Dagster stores them."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest
import sqlalchemy
from dagster import (
    AssetCheckEvaluation,
    AssetKey,
    AssetMaterialization,
    AssetRecordsFilter,
    DagsterInstance,
)

from forecast_backfill.dagster_defs.event_log import PartitionEventLog, Target
from forecast_backfill_tests.dagster.conftest import Site

DEMAND = AssetKey("daily_demand")
STORED_AS = """
SELECT dagster_event_type, step_key, events.asset_key, events.run_id, tags.key, tags.value,
       checks.check_name, checks.execution_status, checks.materialization_event_storage_id IS NULL
FROM event_logs AS events
LEFT JOIN asset_event_tags AS tags ON tags.event_id = events.id
LEFT JOIN asset_check_executions AS checks ON checks.evaluation_event_storage_id = events.id
WHERE coalesce(events.partition, checks.partition) = :key
ORDER BY events.id, tags.key
"""


@pytest.fixture
def instance(site: Site) -> Iterator[DagsterInstance]:
    """The instance of `dagster.yaml`."""
    with DagsterInstance.get() as found:
        yield found


def log_of(instance: DagsterInstance) -> PartitionEventLog:
    """The instance's event log."""
    log = instance.event_log_storage
    assert isinstance(log, PartitionEventLog)
    return log


def materialize(instance: DagsterInstance, key: str) -> None:
    """Report a materialization of the partition."""
    tags = {"dagster/data_version": "v1"}
    instance.report_runless_asset_event(
        AssetMaterialization(DEMAND, partition=key, tags=tags, metadata={"rows": 3})
    )


def check(instance: DagsterInstance, key: str) -> None:
    """Report a check of the partition that passed."""
    instance.report_runless_asset_event(
        AssetCheckEvaluation(
            asset_key=DEMAND, check_name="source_intact", passed=True, partition=key
        )
    )


def stored_as(instance: DagsterInstance, key: str) -> list[tuple[object, ...]]:
    """What Dagster's tables hold of the partition's events, but for numbers and times."""
    with log_of(instance)._connect() as connection:
        rows = connection.execute(sqlalchemy.text(STORED_AS), {"key": key}).all()
    return [tuple(row) for row in rows]


def test_an_error_among_the_events_of_a_partition_leaves_none_of_them(
    instance: DagsterInstance,
) -> None:
    with pytest.raises(ValueError, match="between"), log_of(instance).one_transaction():
        materialize(instance, "2026-03-01|R01")
        raise ValueError("between two events")
    assert stored_as(instance, "2026-03-01|R01") == []


def test_events_in_one_transaction_fill_dagsters_tables_as_events_on_their_own(
    instance: DagsterInstance,
) -> None:
    materialize(instance, "2026-03-01|R02")
    check(instance, "2026-03-01|R02")
    with log_of(instance).one_transaction():
        materialize(instance, "2026-03-01|R03")
        check(instance, "2026-03-01|R03")
    together = stored_as(instance, "2026-03-01|R03")
    assert together == stored_as(instance, "2026-03-01|R02")
    assert [row[0] for row in together] == ["ASSET_MATERIALIZATION", "ASSET_CHECK_EVALUATION"]


def test_the_transaction_tells_the_materialization_that_a_check_is_to_point_at(
    instance: DagsterInstance,
) -> None:
    with log_of(instance).one_transaction() as materialized:
        materialize(instance, "2026-03-01|R04")
        told = materialized[DEMAND, "2026-03-01|R04"]
    asked = AssetRecordsFilter(asset_key=DEMAND, asset_partitions=["2026-03-01|R04"])
    (record,) = instance.fetch_materializations(asked, limit=2).records
    assert told == Target(
        storage_id=record.storage_id,
        run_id=record.event_log_entry.run_id,
        timestamp=record.timestamp,
    )


def test_the_last_materialization_of_the_asset_is_the_one_of_the_transaction(
    instance: DagsterInstance,
) -> None:
    materialize(instance, "2026-03-01|R06")
    with log_of(instance).one_transaction():
        materialize(instance, "2026-03-01|R07")
    last = instance.get_latest_materialization_event(DEMAND)
    assert last is not None and last.asset_materialization is not None
    assert last.asset_materialization.partition == "2026-03-01|R07"


def test_the_transaction_of_one_thread_is_not_that_of_another(instance: DagsterInstance) -> None:
    with pytest.raises(ValueError, match="undone"), log_of(instance).one_transaction():
        other = threading.Thread(target=check, args=(instance, "2026-03-01|R05"))
        other.start()
        other.join()
        raise ValueError("undone")
    assert len(stored_as(instance, "2026-03-01|R05")) == 1


def test_a_backfill_looks_again_at_the_last_events_that_it_saw(instance: DagsterInstance) -> None:
    # The variable is Dagster's; a materialization that commits late would be lost without it.
    assert os.environ["ASSET_BACKFILL_CURSOR_OFFSET"] == "200"


def test_a_backfill_outlives_a_code_server_that_is_away(instance: DagsterInstance) -> None:
    # Dagster's too: a look at the backfill meanwhile would fail it, and cancel its queued runs.
    assert os.environ["DAGSTER_BACKFILL_RETRY_DEFINITION_CHANGED_ERROR"] == "1"
