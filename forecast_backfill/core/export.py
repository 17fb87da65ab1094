"""What goes into an export, and what is left out of it, and why."""

from __future__ import annotations

from dataclasses import dataclass

from forecast_backfill.core.fingerprint import Fingerprint
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import OutputState, PartitionStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A partition as the ledger has it; `reason` is why its last attempt ended as it did.

    `is_elsewhere`: its rows lie in the other warehouse than the settings name.
    """

    partition: Partition
    status: PartitionStatus
    output: OutputState
    reason: str | None
    fingerprint: Fingerprint | None
    is_elsewhere: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The partition is exported, where its rows have this fingerprint."""

    partition: Partition
    fingerprint: Fingerprint


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """The partition is not exported; `is_removed`: a file of an earlier export was taken away."""

    partition: Partition
    reason: str
    is_removed: bool = False


def decide(partition: Partition, recorded: Recorded | None) -> Wanted | LeftOut:
    """Whether the partition can be exported: where the ledger has a current output of it.

    An attempt that is running changes nothing of that.
    """
    if recorded is None:
        return LeftOut(partition=partition, reason="it was never built")
    if recorded.output is OutputState.CURRENT and recorded.fingerprint is not None:
        return Wanted(partition=partition, fingerprint=recorded.fingerprint)
    what = _WORDS[recorded.status]
    state = "stale" if recorded.output is OutputState.STALE else "nothing is stored"
    why = f": {recorded.reason}" if recorded.reason else ""
    return LeftOut(partition=partition, reason=f"{state}, {what}{why}")


_WORDS: dict[PartitionStatus, str] = {
    PartitionStatus.RUNNING: "it is being built",
    PartitionStatus.DONE: "its output was taken back",
    PartitionStatus.QUARANTINED: "its source is quarantined",
    PartitionStatus.MISMATCHED: "its last attempt was not proved",
    PartitionStatus.FAILED: "its last attempt failed",
    PartitionStatus.ROLLED_BACK: "it was rolled back",
}
