"""The ledger's states and the only arrows between them, as one table."""

from __future__ import annotations

from enum import StrEnum


class PartitionStatus(StrEnum):
    """What the last attempt at a partition came to."""

    RUNNING = "running"
    DONE = "done"
    QUARANTINED = "quarantined"
    MISMATCHED = "mismatched"
    FAILED = "failed"
    ROLLED_BACK = "rolled_back"


class OutputState(StrEnum):
    """What a reader finds in the target table, whatever the last attempt came to."""

    ABSENT = "absent"
    CURRENT = "current"
    STALE = "stale"


class Workload(StrEnum):
    """Who runs: only what the nightly schedule and its sensors launch is nightly."""

    NIGHTLY = "nightly"
    BACKFILL = "backfill"


TRANSITIONS: dict[tuple[PartitionStatus | None, PartitionStatus], str] = {
    (None, PartitionStatus.RUNNING): "the first attempt starts",
    (PartitionStatus.RUNNING, PartitionStatus.RUNNING): "an attempt died and another takes over",
    (PartitionStatus.DONE, PartitionStatus.RUNNING): "the source, the code or a dimension changed",
    (PartitionStatus.QUARANTINED, PartitionStatus.RUNNING): "a quarantined source is tried again",
    (PartitionStatus.MISMATCHED, PartitionStatus.RUNNING): "a mismatch is tried again",
    (PartitionStatus.FAILED, PartitionStatus.RUNNING): "a failed attempt is tried again",
    (PartitionStatus.ROLLED_BACK, PartitionStatus.RUNNING): "what was rolled back is built again",
    (PartitionStatus.RUNNING, PartitionStatus.DONE): "rows, reconcile and record were committed",
    (PartitionStatus.RUNNING, PartitionStatus.QUARANTINED): "the source was refused",
    (PartitionStatus.RUNNING, PartitionStatus.MISMATCHED): "the reconcile found a difference",
    (PartitionStatus.RUNNING, PartitionStatus.FAILED): "the attempt ended in an error",
}
"""(from, to) → the reason for the arrow; None stands for a partition without a ledger row."""


ROLLBACKS: dict[PartitionStatus, str] = {
    PartitionStatus.DONE: "a campaign's output is taken back",
    PartitionStatus.ROLLED_BACK: "the campaign before it is taken back too",
    PartitionStatus.RUNNING: "the attempt's epoch is over, so it cannot commit any more",
    PartitionStatus.QUARANTINED: "below a refused source a campaign's older output is taken back",
    PartitionStatus.MISMATCHED: "below a mismatch a campaign's older output is taken back",
    PartitionStatus.FAILED: "below a failed attempt a campaign's older output is taken back",
}
"""From → the reason why a rollback may put an earlier output back; not a move of an attempt."""


def is_allowed(source: PartitionStatus | None, target: PartitionStatus) -> bool:
    """Whether the ledger may go from `source` to `target`."""
    return (source, target) in TRANSITIONS


def sources_of(target: PartitionStatus) -> tuple[PartitionStatus, ...]:
    """The recorded states from which `target` may be reached, in declaration order."""
    return tuple(status for status in PartitionStatus if (status, target) in TRANSITIONS)


def output_after(target: PartitionStatus, before: OutputState) -> OutputState:
    """What a reader finds after an attempt ended in `target`, given what was there before.

    A refused or failed attempt leaves the last good output readable and marks it stale. A running
    attempt changes nothing.
    """
    match target:
        case PartitionStatus.DONE:
            return OutputState.CURRENT
        case PartitionStatus.RUNNING:
            return before
        case (
            PartitionStatus.QUARANTINED
            | PartitionStatus.MISMATCHED
            | PartitionStatus.FAILED
            | PartitionStatus.ROLLED_BACK
        ):
            return OutputState.ABSENT if before is OutputState.ABSENT else OutputState.STALE


def after_rollback(
    status: PartitionStatus, earlier: OutputState
) -> tuple[PartitionStatus, OutputState]:
    """Status and output once an `earlier` output was put back in a partition that was `status`.

    A later source that was refused stays so: what is put back below it is stale.
    """
    match status:
        case PartitionStatus.DONE | PartitionStatus.RUNNING | PartitionStatus.ROLLED_BACK:
            is_current = earlier is OutputState.CURRENT
            return (PartitionStatus.DONE if is_current else PartitionStatus.ROLLED_BACK), earlier
        case PartitionStatus.QUARANTINED | PartitionStatus.MISMATCHED | PartitionStatus.FAILED:
            return status, output_after(status, earlier)
