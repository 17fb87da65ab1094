"""Logs events by hand, so that a check counts for the materialization that it judged."""

from __future__ import annotations

from collections.abc import Iterable

from dagster import (
    AssetCheckEvaluation,
    AssetExecutionContext,
    AssetKey,
    AssetMaterialization,
    AssetRecordsFilter,
)
from dagster._core.definitions.asset_checks.asset_check_evaluation import (
    AssetCheckEvaluationTargetMaterializationData,
)
from dagster_shared.record import copy

Target = AssetCheckEvaluationTargetMaterializationData


def log_events(
    context: AssetExecutionContext, events: Iterable[AssetMaterialization | AssetCheckEvaluation]
) -> None:
    """Log the events of one partition in their order.

    Each check points at the partition's latest materialization. Dagster sets the pointer itself
    only on what an asset returns; without it the UI shows a check that passed as never run.
    """
    targets: dict[tuple[AssetKey, str | None], Target | None] = {}
    for event in events:
        key = (event.asset_key, event.partition)
        if isinstance(event, AssetMaterialization):
            context.log_event(event)
            targets.pop(key, None)
            continue
        if key not in targets:
            targets[key] = _latest(context, *key)
        context.log_event(copy(event, target_materialization_data=targets[key]))


def _latest(
    context: AssetExecutionContext, asset_key: AssetKey, partition: str | None
) -> Target | None:
    asked = AssetRecordsFilter(
        asset_key=asset_key, asset_partitions=None if partition is None else [partition]
    )
    for record in context.instance.fetch_materializations(asked, limit=1).records:
        return Target(
            storage_id=record.storage_id,
            run_id=record.event_log_entry.run_id,
            timestamp=record.timestamp,
        )
    return None
