"""Makes a campaign known to the ledger when the first of its runs begins."""

from __future__ import annotations

from dagster import DagsterInstance

from forecast_backfill.wiring import Wiring


def register_campaign(instance: DagsterInstance, campaign_id: str | None, wiring: Wiring) -> None:
    """Record the campaign with the number of partitions that its backfill targets, once."""
    if campaign_id is None:
        return
    backfill = instance.get_backfill(campaign_id)
    total = None if backfill is None else backfill.get_num_partitions()
