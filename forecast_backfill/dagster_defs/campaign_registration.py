"""Makes a campaign known to the ledger when one of its runs begins, wherever it was launched.

The first run of one that nobody looked at before also asks whether the disk has room for all of it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from dagster import AssetExecutionContext, DagsterInstance
from dagster._core.execution.backfill import BulkActionStatus, PartitionBackfill
from dagster._utils.error import SerializableErrorInfo

from forecast_backfill.app.launch_room import refuse_without_room
from forecast_backfill.core.errors import DiskTooFull
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import Workload
from forecast_backfill.dagster_defs.partition_keys import parse_key
from forecast_backfill.dagster_defs.tags import BACKFILL_ID_TAG, LAUNCHED_BY_TAG
from forecast_backfill.ports import RunRequest
from forecast_backfill.warehouse.campaigns import is_registered, register_campaign
from forecast_backfill.wiring.lakehouse import plan_facts_of
from forecast_backfill.wiring.partition import Wiring

UNNAMED_LAUNCHER = "dagster"


def register_backfill(
    context: AssetExecutionContext,
    request: RunRequest,
    wiring: Wiring,
    batch: Collection[Partition],
) -> RunRequest:
    """Record how many partitions the run's backfill targets; the request, numbered if it overlaps.

    Registering again changes nothing: every run of the backfill tells the same. A run without a
    backfill is a campaign of its own where it overlaps, and is not recorded where it does not.

    Raises DiskTooFull where the campaign is not known yet and its rows may not fit; the backfill
    then starts no more runs.
    """
    campaign_id = context.run.tags.get(BACKFILL_ID_TAG)
    backfill = None if campaign_id is None else context.instance.get_backfill(campaign_id)
    if backfill is not None and not backfill.is_asset_backfill:
        backfill = None
    _refuse_without_room(context, backfill, request, wiring, batch)
    if campaign_id is not None and backfill is not None:
        data = backfill.get_asset_backfill_data(context.repository_def.asset_graph)
        partitions = data.get_num_partitions() or 1
    elif request.winner is not None:
        campaign_id, partitions = campaign_id or context.run.run_id, len(batch)
    else:
        return request
    number = register_campaign(
        wiring.session,
        campaign_id=campaign_id,
        workload=request.workload,
        partitions=partitions,
        launched_by=context.run.tags.get(LAUNCHED_BY_TAG, UNNAMED_LAUNCHER),
        reprocess=request.reprocess,
        winner=request.winner,
    )
    if request.winner is None:
        return request
    return replace(request, campaign_id=campaign_id, revision=number)


def _refuse_without_room(
    context: AssetExecutionContext,
    backfill: PartitionBackfill | None,
    request: RunRequest,
    wiring: Wiring,
    batch: Collection[Partition],
) -> None:
    """For all of a backfill that is not recorded, so once; for a run without one, of its batch."""
    if request.workload is Workload.NIGHTLY:
        return
    if backfill is not None:
        if is_registered(wiring.session, backfill.backfill_id):
            return
        batch = _targets(context, backfill)
    try:
        refuse_without_room(
            plan_facts_of(wiring.settings, wiring.session), batch, rewrites=request.reprocess
        )
    except DiskTooFull as error:
        if backfill is not None:
            _end(context.instance, backfill.backfill_id, error)
        raise


def _targets(context: AssetExecutionContext, backfill: PartitionBackfill) -> tuple[Partition, ...]:
    data = backfill.get_asset_backfill_data(context.repository_def.asset_graph)
    subset = data.target_subset.get_partitions_subset(context.asset_key)
    return tuple(parse_key(key) for key in subset.get_partition_keys())


def _end(instance: DagsterInstance, backfill_id: str, error: DiskTooFull) -> None:
    """Let Dagster start no more runs of it, and say why on the backfill's page."""
    backfill = instance.get_backfill(backfill_id)
    if backfill is not None and backfill.status is BulkActionStatus.REQUESTED:
        info = SerializableErrorInfo(message=str(error), stack=[], cls_name="DiskTooFull")
        instance.update_backfill(backfill.with_status(BulkActionStatus.FAILING).with_error(info))
