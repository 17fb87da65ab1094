"""Makes a campaign known to the ledger when one of its runs begins, wherever it was launched."""

from __future__ import annotations

from dagster import AssetExecutionContext

from forecast_backfill.dagster_defs.tags import BACKFILL_ID_TAG, LAUNCHED_BY_TAG
from forecast_backfill.ports import RunRequest
from forecast_backfill.warehouse.campaigns import register_campaign
from forecast_backfill.wiring import Wiring

UNNAMED_LAUNCHER = "dagster"


def register_backfill(context: AssetExecutionContext, request: RunRequest, wiring: Wiring) -> None:
    """Record how many partitions the run's backfill targets; nothing for a run without one.

    Registering again changes nothing: every run of the backfill tells the same.
    """
    campaign_id = context.run.tags.get(BACKFILL_ID_TAG)
    backfill = None if campaign_id is None else context.instance.get_backfill(campaign_id)
    if campaign_id is None or backfill is None or not backfill.is_asset_backfill:
        return
    data = backfill.get_asset_backfill_data(context.repository_def.asset_graph)
    register_campaign(
        wiring.session,
        campaign_id=campaign_id,
        workload=request.workload,
        partitions=data.get_num_partitions() or 1,
        launched_by=context.run.tags.get(LAUNCHED_BY_TAG, UNNAMED_LAUNCHER),
        reprocess=request.reprocess,
    )
