"""Makes a campaign known to the ledger when one of its runs begins, wherever it was launched."""

from __future__ import annotations

from dataclasses import replace

from dagster import AssetExecutionContext

from forecast_backfill.dagster_defs.tags import BACKFILL_ID_TAG, LAUNCHED_BY_TAG
from forecast_backfill.ports import RunRequest
from forecast_backfill.warehouse.campaigns import register_campaign
from forecast_backfill.wiring import Wiring

UNNAMED_LAUNCHER = "dagster"


def register_backfill(
    context: AssetExecutionContext, request: RunRequest, wiring: Wiring, *, batch_size: int
) -> RunRequest:
    """Record how many partitions the run's backfill targets; the request, numbered if it overlaps.

    Registering again changes nothing: every run of the backfill tells the same. A run without a
    backfill is a campaign of its own where it overlaps, and is not recorded where it does not.
    """
    campaign_id = context.run.tags.get(BACKFILL_ID_TAG)
    backfill = None if campaign_id is None else context.instance.get_backfill(campaign_id)
    if campaign_id is not None and backfill is not None and backfill.is_asset_backfill:
        data = backfill.get_asset_backfill_data(context.repository_def.asset_graph)
        partitions = data.get_num_partitions() or 1
    elif request.winner is not None:
        campaign_id, partitions = campaign_id or context.run.run_id, batch_size
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
