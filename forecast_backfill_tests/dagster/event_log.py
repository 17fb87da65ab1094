"""Reads what Dagster knows, straight from its event log."""

from __future__ import annotations

from dagster import (
    AssetKey,
    DagsterEventType,
    DagsterInstance,
    EventRecordsFilter,
    RunsFilter,
)

DAILY_DEMAND = AssetKey("daily_demand")


def materialized(instance: DagsterInstance) -> list[str]:
    """The keys of the partitions that have a materialization, each as often as it has one."""
    records = instance.fetch_materializations(DAILY_DEMAND, limit=1000).records
    return sorted(str(record.partition_key) for record in records)


def evaluations(instance: DagsterInstance, check: str) -> dict[str, object]:
    """Partition key → the last evaluation of the check."""
    records = instance.get_event_records(
        EventRecordsFilter(DagsterEventType.ASSET_CHECK_EVALUATION), ascending=True
    )
    found = {}
    for record in records:
        event = record.event_log_entry.dagster_event
        assert event is not None
        evaluation = event.asset_check_evaluation_data
        if evaluation.check_name == check:
            found[str(evaluation.partition)] = evaluation
    return found


def runs_of(instance: DagsterInstance, backfill_id: str) -> list:
    """The runs of a backfill."""
    return list(instance.get_runs(RunsFilter(tags={"dagster/backfill": backfill_id})))
