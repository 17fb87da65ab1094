"""What rollback and accept need of the world, as Protocols."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date as Date
from datetime import datetime
from typing import Protocol

from forecast_backfill.core.fingerprint import Fingerprint
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.rollback import Kept, PutBack, RollbackOutcome, Stands
from forecast_backfill.core.shadow_check import ShadowWrite
from forecast_backfill.core.states import Workload
from forecast_backfill.ports import Clock, Control, Ledger, Rate, RunRequest, Slots, Waits


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptPartition:
    """A partition that a campaign changed: who wrote it, and how many earlier rows are kept."""

    partition: Partition
    workload: Workload
    rows: int


class RollbackTransaction(Protocol):
    """One open transaction over one partition; leaving it by an exception rolls it all back."""

    def take_lease(self) -> None:
        """Wait for the partition's lease. Raises PartitionLeased after the lock timeout."""
        ...

    def hold_epoch(self) -> None:
        """Lock the epoch against a kill. Raises EpochRaised where it is another by now."""
        ...

    def find(self) -> tuple[Kept | None, Stands | None]:
        """What is kept, locked against being freed, and what the ledger says now."""
        ...

    def restore(self, kept: Kept) -> int:
        """Put the earlier rows in the place of the stored ones; how many were removed.

        Removes nothing where no copy was kept: the stored rows are the earlier ones.
        """
        ...

    def fingerprint(self) -> Fingerprint:
        """The fingerprint of what is stored now, computed by the database from the columns."""
        ...

    def write_shadows(self, data_version: str | None) -> tuple[ShadowWrite, ...]:
        """Write what is stored now into every shadow; None where nothing is left."""
        ...

    def complete(self, verdict: PutBack, *, reason: str, removed_rows: int, seconds: float) -> None:
        """Put the earlier record back into the ledger, and append the event.

        Raises TransitionRefused where the ledger has moved meanwhile.
        """
        ...


class Rollbacks(Protocol):
    """What campaigns have replaced, and the transactions that put it back."""

    def list(
        self,
        campaign_id: str,
        *,
        start: Date | None = None,
        end: Date | None = None,
        regions: Sequence[str] | None = None,
    ) -> tuple[KeptPartition, ...]:
        """The partitions that the campaign changed, by date and region; `end` is exclusive."""
        ...

    def transaction(
        self, partition: Partition, campaign_id: str, request: RunRequest
    ) -> AbstractContextManager[RollbackTransaction]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """Who has accepted a campaign, and when."""

    accepted_at: datetime
    accepted_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Freed:
    """So many partitions' earlier states were freed, with so many rows."""

    partitions: int
    rows: int


class Acceptances(Protocol):
    """Accepting campaigns, and freeing what they have replaced."""

    def accept(self, campaign_id: str, *, accepted_by: str, reason: str) -> Acceptance | None:
        """Record it; the acceptance that holds, None where nothing was ever kept."""
        ...

    def free_some(self, campaign_id: str) -> Freed:
        """Free a bounded part of what the accepted campaign replaced, in one transaction."""
        ...

    def free_unmarked(self, before: datetime) -> int:
        """Free a bounded part of the rows that belong to no recorded campaign; how many."""
        ...

    def expired(self, before: datetime) -> tuple[str, ...]:
        """The campaigns whose last write is older, and that still keep something."""
        ...

    def give_back_space(self) -> None:
        """Make what was freed usable again, and hand empty ends of files back to the disk."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackPorts:
    """Everything that a rollback is handed."""

    rollbacks: Rollbacks
    ledger: Ledger
    control: Control
    slots: Slots
    waits: Waits
    rate: Rate
    clock: Clock
    retry: Callable[[Callable[[], RollbackOutcome]], RollbackOutcome]
