"""Logs events by hand, so that a check counts for the materialization that it judged."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext

from dagster import (
    AssetCheckEvaluation,
    AssetExecutionContext,
    AssetKey,
    AssetMaterialization,
    AssetRecordsFilter,
    DagsterInstance,
)
from dagster_shared.record import copy

from forecast_backfill.dagster_defs.event_log import Materialized, PartitionEventLog, Target


def log_events(
    context: AssetExecutionContext, events: Iterable[AssetMaterialization | AssetCheckEvaluation]
) -> None:
    """Log the events of one partition in their order, together where the storage can do that.

    Each check points at the partition's latest materialization. Dagster sets the pointer itself
    only on what an asset returns; without it the UI shows a check that passed as never run.
    """
    targets: dict[tuple[AssetKey, str | None], Target | None] = {}
    with _together(context.instance) as materialized:
        for event in events:
            if isinstance(event, AssetMaterialization):
                context.log_event(event)
                continue
            key = (event.asset_key, event.partition)
            if key not in targets:
                targets[key] = materialized.get(key) or _latest(context, *key)
            context.log_event(copy(event, target_materialization_data=targets[key]))


def _together(instance: DagsterInstance) -> AbstractContextManager[Materialized]:
    log = instance.event_log_storage
    return log.one_transaction() if isinstance(log, PartitionEventLog) else nullcontext({})


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
