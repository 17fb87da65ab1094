"""What is recorded of each partition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from forecast_backfill.core.fingerprint import Fingerprint
from forecast_backfill.core.identity import OutputIdentity
from forecast_backfill.core.merge import MergeCounts
from forecast_backfill.core.parity import Exclusion, Mismatch
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.source import ControlTotals, FaultReport
from forecast_backfill.core.states import OutputState, PartitionStatus
from forecast_backfill.core.strategy import Choice
from forecast_backfill.core.version import Authority, Version
from forecast_backfill.ports.request import RunRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """A partition as the ledger has it; `identity` and `fingerprint` describe the stored output.

    `is_shadow_due`: a shadow does not hold this output yet.
    """

    partition: Partition
    status: PartitionStatus
    output: OutputState
    attempt: int
    identity: OutputIdentity | None
    fingerprint: Fingerprint | None
    authority: Authority | None = None
    is_merged: bool = False
    is_shadow_due: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What the commit records next to the rows; `choice` is how they were written, and why."""

    identity: OutputIdentity
    fingerprint: Fingerprint
    totals: ControlTotals
    exclusions: Mapping[str, Exclusion]
    version: Version
    replaced_rows: int
    seconds: float
    choice: Choice | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeCompletion:
    """What the commit of a merge records.

    `claim` is what the writer stated, `stored` what the partition now holds. `holds` tells whether
    the claim is the highest statement, so that its identity describes the output. A guest is a
    campaign beside the owner: it leaves an attempt that is running to its run.
    """

    claim: Completion
    stored: Fingerprint
    counts: MergeCounts
    holds: bool
    is_guest: bool


class Ledger(Protocol):
    """The record of every partition: one row each, and an append-only history of events.

    Every change of status is one guarded update; TransitionRefused where the arrow is not in the
    table of states. DatabaseInterrupted where the database went away.
    """

    def find(self, partition: Partition) -> LedgerRow | None: ...

    def start(self, partition: Partition, request: RunRequest) -> LedgerRow:
        """Move to running and count the attempt."""
        ...

    def unchanged(self, partition: Partition, request: RunRequest) -> None:
        """Record that nothing had to be done."""
        ...

    def quarantine(
        self,
        partition: Partition,
        request: RunRequest,
        *,
        report: FaultReport,
        source_digest: str,
        seconds: float,
    ) -> None:
        """Move to quarantined, mark an older output stale, and keep the faults."""
        ...

    def refuse(self, partition: Partition, request: RunRequest, *, reason: str) -> None:
        """Record a refusal as an event; the row of the owner's partition is left alone."""
        ...

    def mismatch(
        self, partition: Partition, request: RunRequest, *, mismatch: Mismatch, seconds: float
    ) -> None:
        """Move to mismatched and record both sides."""
        ...

    def fail(self, partition: Partition, request: RunRequest, *, reason: str) -> None:
        """Move to failed from running; no row is changed where the partition is not running."""
        ...

    def quarantine_beside(
        self, partition: Partition, request: RunRequest, *, report: FaultReport, source_digest: str
    ) -> None:
        """Keep the faults that a guest has found; status and output are the owner's to change."""
        ...

    def find_claim(self, partition: Partition, authority: Authority) -> OutputIdentity | None:
        """What the authority's highest statement about a merged partition was made from."""
        ...

    def note_beside(
        self, partition: Partition, request: RunRequest, *, status: PartitionStatus, reason: str
    ) -> None:
        """Record what became of an attempt beside the owner, as an event; the row is its owner's.

        Running says that it has begun.
        """
        ...
