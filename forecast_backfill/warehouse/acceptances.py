"""What is kept for rollbacks: accepted and freed a bounded part at a time, and measured."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from forecast_backfill.core.states import Workload
from forecast_backfill.ports.rollback import Acceptance, Freed
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.statements import statements

FREED_ROWS = 20_000
FREED_PARTITIONS = 500
"""What one transaction of an acceptance frees at most; one partition always."""


class PostgresAcceptances:
    """Accepting campaigns and freeing what they replaced, over one session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def accept(self, campaign_id: str, *, accepted_by: str, reason: str) -> Acceptance | None:
        """Record it; the acceptance that holds, None where nothing was ever kept."""
        with self._session.use() as connection:
            row = statements().accept_campaign(
                connection, campaign_id=campaign_id, accepted_by=accepted_by, reason=reason
            )
        return None if row is None else Acceptance(**row)

    def free_some(self, campaign_id: str) -> Freed:
        """Free a bounded part of what the accepted campaign replaced, in one transaction."""
        with self._session.use() as connection:
            row = statements().free_superseded(
                connection,
                campaign_id=campaign_id,
                most_rows=FREED_ROWS,
                most_partitions=FREED_PARTITIONS,
            )
        return Freed(**row)

    def free_unmarked(self, before: datetime) -> int:
        """Free a bounded part of the rows that belong to no recorded campaign; how many."""
        with self._session.use() as connection:
            row = statements().free_unmarked(connection, before=before, most_rows=FREED_ROWS)
        freed: int = row["rows"]
        return freed

    def expired(self, before: datetime) -> tuple[str, ...]:
        """The campaigns whose last write is older, and that still keep something."""
        kept = superseded_size(self._session).campaigns
        return tuple(each.campaign_id for each in kept if each.last_at < before)

    def give_back_space(self) -> None:
        """Make what was freed usable again, and hand empty ends of files back to the disk.

        That takes as long as it takes: a large table is not through in the time of a statement.
        """
        with self._session.use() as connection:
            statements().lift_statement_timeout(connection)
            connection.execute("VACUUM (SKIP_LOCKED) daily_demand_superseded, superseded_partition")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptCampaign:
    """What is kept of a campaign (of a run without one): partitions, rows, and the last write."""

    campaign_id: str
    workload: Workload
    partitions: int
    rolled_back: int
    rows: int
    last_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SupersededSize:
    """What all campaigns that are not accepted keep: bytes on disk, and each, the oldest first."""

    bytes: int
    campaigns: tuple[KeptCampaign, ...]


def superseded_size(session: Session) -> SupersededSize:
    """How much is kept for rollbacks, and for which campaigns."""
    with session.use() as connection:
        size = statements().superseded_bytes(connection)["bytes"]
        rows = list(statements().superseded_campaigns(connection))
    return SupersededSize(
        bytes=size,
        campaigns=tuple(
            KeptCampaign(**row | {"workload": Workload(row["workload"])}) for row in rows
        ),
    )
