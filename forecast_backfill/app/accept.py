"""Accept a campaign: what it replaced is freed, a bounded part at a time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from forecast_backfill.core.errors import UsageRefused
from forecast_backfill.ports.rollback import Acceptance, Acceptances


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """A campaign that can be rolled back no more, and what was freed now."""

    campaign_id: str
    acceptance: Acceptance
    partitions: int
    rows: int


def accept(
    campaign_id: str, *, accepted_by: str, reason: str, acceptances: Acceptances
) -> Accepted:
    """Accept the campaign and free what it replaced; again, it goes on where it was interrupted.

    Raises UsageRefused where nothing was ever kept of such a campaign.
    """
    acceptance = acceptances.accept(campaign_id, accepted_by=accepted_by, reason=reason)
    if acceptance is None:
        raise UsageRefused(
            f"there is nothing to accept of {campaign_id!r}",
            why="it has changed no partition, or there is no such campaign",
            next_command="forecast-backfill status (lists the campaigns)",
        )
    partitions = rows = 0
    while True:
        freed = acceptances.free_some(campaign_id)
        partitions += freed.partitions
        rows += freed.rows
        if freed.partitions == 0:
            break
    return Accepted(
        campaign_id=campaign_id, acceptance=acceptance, partitions=partitions, rows=rows
    )


def accept_expired(
    before: datetime, *, accepted_by: str, reason: str, acceptances: Acceptances
) -> list[Accepted]:
    """Accept every campaign that last wrote before `before`, and free what belongs to none."""
    accepted = [
        accept(each, accepted_by=accepted_by, reason=reason, acceptances=acceptances)
        for each in acceptances.expired(before)
    ]
    while acceptances.free_unmarked(before):
        pass
    return accepted
