"""Campaigns: what was asked for, and how far it has come by the event history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.types.json import Jsonb

from forecast_backfill.core.states import Workload
from forecast_backfill.core.version import Winner
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.statements import statements

RATE_WINDOW_SECONDS = 60.0
ENDS = {
    "CANCELING": "cancelled",
    "CANCELED": "cancelled",
    "FAILED": "failed",
    "COMPLETED": "over",
    "COMPLETED_SUCCESS": "over",
    "COMPLETED_FAILED": "over, with failed runs",
}
"""Dagster's states of a backfill that starts nothing more, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """One campaign; `requested` and `launched_by` are None where it was launched elsewhere (UI)."""

    campaign_id: str
    workload: Workload
    requested: int | None
    launched_at: datetime
    launched_by: str | None
    reprocess: bool
    winner: Winner | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignProgress:
    """How many partitions of a campaign (None: of everything) came to what.

    `requested` is what was asked for, else what was touched. `left` counts those without an end,
    the running ones among them. `rate` is partitions that ended a minute, over the last seconds;
    `eta_seconds` is None where nothing ended of late.
    """

    campaign_id: str | None
    requested: int
    done: int
    unchanged: int
    quarantined: int
    refused: int
    mismatched: int
    failed: int
    running: int
    left: int
    first_event_at: datetime | None
    last_event_at: datetime | None
    rate: float
    eta_seconds: float | None
    rolled_back: int = 0

    @property
    def ended(self) -> int:
        """Partitions with an end, good or bad."""
        return self.requested - self.left


def register_campaign(
    session: Session,
    *,
    campaign_id: str,
    workload: Workload,
    partitions: int,
    launched_by: str,
    reprocess: bool,
    detail: Mapping[str, Any] | None = None,
    winner: Winner | None = None,
) -> int:
    """Record that a campaign asks for so many partitions; again for the same id corrects it.

    Its number, which stays: the later launch has the higher one.
    """
    with session.use() as connection:
        row = statements().register_campaign(
            connection,
            campaign_id=campaign_id,
            workload=workload,
            partitions=partitions,
            launched_by=launched_by,
            reprocess=reprocess,
            detail=Jsonb(dict(detail or {})),
            winner=winner,
        )
    number: int = row["number"]
    return number


def is_registered(session: Session, campaign_id: str) -> bool:
    """Whether it is recorded that the campaign was launched."""
    with session.use() as connection:
        return bool(statements().is_registered(connection, campaign_id=campaign_id))


def list_campaigns(session: Session) -> tuple[Campaign, ...]:
    """Every campaign that was launched or that events tell of, the latest first."""
    with session.use() as connection:
        rows = list(statements().list_campaigns(connection))
    return tuple(_campaign(row) for row in rows)


def _campaign(row: Mapping[str, Any]) -> Campaign:
    winner = row["winner"]
    typed = {"workload": Workload(row["workload"]), "winner": winner and Winner(winner)}
    return Campaign(**{**row, **typed})


def campaigns_over(session: Session, campaign_ids: Sequence[str]) -> Mapping[str, str]:
    """Those that Dagster does nothing more for, and how they ended: fit for an operator."""
    with session.use() as connection:
        if not statements().has_dagster_backfills(connection):
            return {}
        rows = list(statements().dagster_backfills(connection, campaign_ids=list(campaign_ids)))
    return {row["campaign_id"]: ENDS[row["status"]] for row in rows if row["status"] in ENDS}


def has_dagster(session: Session) -> bool:
    """Whether Dagster keeps its events in this database."""
    with session.use() as connection:
        return bool(statements().has_dagster_events(connection))


def is_under_way(session: Session, campaign_id: str) -> bool:
    """Whether Dagster still starts runs of the campaign."""
    with session.use() as connection:
        if not statements().has_dagster_backfills(connection):
            return False
        rows = list(statements().dagster_backfills(connection, campaign_ids=[campaign_id]))
    return any(row["status"] == "REQUESTED" for row in rows)


def campaign_progress(
    session: Session, campaign_id: str | None, *, window_seconds: float = RATE_WINDOW_SECONDS
) -> CampaignProgress:
    """How far the campaign has come; None counts each partition's latest event of all."""
    with session.use() as connection:
        if campaign_id is None:
            row = statements().progress_of_all(connection, window_seconds=window_seconds)
        else:
            row = statements().progress_of_campaign(
                connection, campaign_id=campaign_id, window_seconds=window_seconds
            )
    return _progress(campaign_id, row, window_seconds)


def _progress(
    campaign_id: str | None, row: Mapping[str, Any], window_seconds: float
) -> CampaignProgress:
    ended = row["touched"] - row["running"]
    requested = max(row["requested"] or 0, row["touched"])
    left = requested - ended
    # A campaign younger than the window is measured over its own age.
    seconds = min(window_seconds, max(row["age_seconds"] or window_seconds, 1.0))
    rate = row["recent"] * 60.0 / seconds
    eta = left * 60.0 / rate if rate else (None if left else 0.0)
    counts = (
        "done",
        "unchanged",
        "quarantined",
        "refused",
        "mismatched",
        "failed",
        "rolled_back",
        "running",
    )
    return CampaignProgress(
        campaign_id=campaign_id,
        requested=requested,
        left=left,
        first_event_at=row["first_event_at"],
        last_event_at=row["last_event_at"],
        rate=rate,
        eta_seconds=eta,
        **{name: row[name] for name in counts},
    )
