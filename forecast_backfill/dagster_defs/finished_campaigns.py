"""Finds campaigns that have finished and left partitions out, and queues a notice of each."""

from __future__ import annotations

from datetime import datetime, timedelta

from forecast_backfill.app.notice_text import campaign_notice
from forecast_backfill.app.notify import queue_notice
from forecast_backfill.warehouse.campaigns import campaign_progress, list_campaigns
from forecast_backfill.warehouse.quarantines import list_quarantines
from forecast_backfill.wiring.night import NightWiring

LOOK_BACK = timedelta(days=3)


def tell_of_campaigns(wiring: NightWiring, now: datetime) -> int:
    """How many campaigns of late have finished with partitions that are not done.

    Each is told of once. One that nobody recorded how much it asks for is left out: it may go on.
    """
    found = 0
    for campaign in list_campaigns(wiring.session):
        if campaign.requested is None or campaign.launched_at < now - LOOK_BACK:
            continue
        progress = campaign_progress(wiring.session, campaign.campaign_id)
        counts = {
            name: getattr(progress, name)
            for name in ("quarantined", "mismatched", "failed", "refused")
        }
        if progress.left or not any(counts.values()):
            continue
        quarantines = list_quarantines(wiring.session, campaign_id=campaign.campaign_id)
        lines = [f"{each.partition}: {each.summary}" for each in quarantines]
        others = {name: count for name, count in counts.items() if name != "quarantined" and count}
        lines += [f"{count} {name}" for name, count in others.items()]
        done = progress.done + progress.unchanged
        notice = campaign_notice(campaign.campaign_id, done=done, not_done=lines)
        queue_notice(notice, ports=wiring.ports)
        found += 1
    return found
