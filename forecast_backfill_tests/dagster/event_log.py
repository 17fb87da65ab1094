"""Reads what Dagster knows, straight from its event log."""

from __future__ import annotations

from dagster import (
    AssetCheckEvaluation,
    AssetCheckKey,
    AssetKey,
    DagsterEventType,
    DagsterInstance,
    RunsFilter,
)

DAILY_DEMAND = AssetKey("daily_demand")


def materialized(instance: DagsterInstance) -> list[str]:
    """The keys of the partitions that have a materialization, each as often as it has one."""
    records = instance.fetch_materializations(DAILY_DEMAND, limit=1000).records
    return sorted(str(record.partition_key) for record in records)


def evaluations(instance: DagsterInstance, check: str) -> dict[str, AssetCheckEvaluation]:
    """Partition key → the last evaluation of a check on `daily_demand`."""
    return evaluations_of(instance, "daily_demand", check)


def evaluations_of(
    instance: DagsterInstance, asset: str, check: str
) -> dict[str, AssetCheckEvaluation]:
    """Partition key → the last evaluation of the check, as the Checks tab reads it."""
    records = instance.event_log_storage.get_asset_check_execution_history(
        AssetCheckKey(AssetKey(asset), check), limit=1000
    )
    found: dict[str, AssetCheckEvaluation] = {}
    for record in reversed(records):
        event = None if record.event is None else record.event.dagster_event
        if event is not None and event.event_type is DagsterEventType.ASSET_CHECK_EVALUATION:
            evaluation = event.asset_check_evaluation_data
            found[str(evaluation.partition)] = evaluation
    return found


def runs_of(instance: DagsterInstance, backfill_id: str) -> list:
    """The runs of a backfill."""
    return list(instance.get_runs(RunsFilter(tags={"dagster/backfill": backfill_id})))
