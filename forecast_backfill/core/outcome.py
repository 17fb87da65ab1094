"""What one attempt at a partition came to: a value, never an exception."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from forecast_backfill.core.fingerprint import Fingerprint
from forecast_backfill.core.identity import OutputIdentity
from forecast_backfill.core.merge import MergeCounts
from forecast_backfill.core.parity import Exclusion, Mismatch
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.seam import SeamRefusal
from forecast_backfill.core.source import FaultReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The partition was replaced, reconciled and recorded in one transaction.

    `merge` is set where it was merged: identity and fingerprint are then those of what is stored,
    which may have been stated by somebody else.
    """

    partition: Partition
    identity: OutputIdentity
    fingerprint: Fingerprint
    exclusions: Mapping[str, Exclusion]
    lines: int
    replaced_rows: int
    seconds: float
    merge: MergeCounts | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unchanged:
    """The ledger already has this source, code and dimension version as done."""

    partition: Partition
    identity: OutputIdentity
    fingerprint: Fingerprint


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """The source was refused; `has_stale_output` tells whether an older output stays readable."""

    partition: Partition
    report: FaultReport
    has_stale_output: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The workload does not own the partition; nothing was read or written."""

    partition: Partition
    refusal: SeamRefusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatched:
    """The reconcile found a difference; the whole transaction was rolled back."""

    partition: Partition
    mismatch: Mismatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The attempt ended in an error, after the retries that its kind deserves."""

    partition: Partition
    reason: str


Outcome = Written | Unchanged | Quarantined | Refused | Mismatched | Failed


def reason_of(outcome: Quarantined | Refused | Mismatched | Failed) -> str:
    """One line fit for an operator that says why the partition has no new output."""
    match outcome:
        case Quarantined(report=report):
            return report.summary
        case Refused(refusal=refusal):
            return f"{refusal.reason}. Next: {refusal.next_command}"
        case Mismatched(mismatch=mismatch):
            return f"{mismatch.kind}: {mismatch.reason}"
        case Failed(reason=reason):
            return reason
