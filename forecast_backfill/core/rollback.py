"""Rollback of a campaign: whether a partition's earlier output may be put back, and what it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from forecast_backfill.core.fingerprint import Fingerprint
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import OutputState, PartitionStatus, after_rollback

NO_ROWS = Fingerprint(rows=0, checksum=0, units=0, revenue_cents=0, stores=0, products=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What stood in a partition before the campaign: its state, and its fingerprint if any.

    `has_rows` tells whether a copy of the rows was kept; without one the stored rows are the same.
    `is_back` is True once it was put back, `is_accepted` once it may be freed. What `is_elsewhere`
    lay in the lakehouse, from which the campaign moved it.
    """

    output: OutputState
    fingerprint: Fingerprint | None
    has_rows: bool
    is_back: bool
    is_accepted: bool
    is_elsewhere: bool = False

    def __post_init__(self) -> None:
        if (self.output is OutputState.ABSENT) != (self.fingerprint is None):
            raise ValueError(f"an output that is {self.output} with {self.fingerprint}")

    @property
    def expected(self) -> Fingerprint:
        """The fingerprint of the partition once it is back."""
        return NO_ROWS if self.fingerprint is None else self.fingerprint


@dataclass(frozen=True, slots=True, kw_only=True)
class Stands:
    """What the ledger says of the partition now.

    `writer` is the campaign (else the run) that wrote the output. `is_epoch_over` tells of the
    attempt `run_id` that it cannot commit any more.
    """

    status: PartitionStatus
    writer: str | None
    rows: int
    run_id: str
    is_epoch_over: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PutBack:
    """The earlier output takes its place again, with this status and output."""

    status: PartitionStatus
    output: OutputState


@dataclass(frozen=True, slots=True, kw_only=True)
class AlreadyBack:
    """It was put back before."""

    partition: Partition


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """The partition was left as it is; `reason` is fit for an operator."""

    partition: Partition
    reason: str
    next_command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RolledBack:
    """The earlier output was put back, reconciled and recorded in one transaction."""

    partition: Partition
    output: OutputState
    rows: int
    removed_rows: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRolledBack:
    """The attempt ended in an error; the partition is as it was."""

    partition: Partition
    reason: str


RollbackOutcome = RolledBack | AlreadyBack | Left | NotRolledBack


def judge_rollback(
    partition: Partition, campaign_id: str, kept: Kept | None, stands: Stands | None
) -> PutBack | AlreadyBack | Left:
    """Whether the partition may be put back to what stood before the campaign."""
    if kept is None or kept.is_accepted:
        return Left(
            partition=partition,
            reason=f"nothing is kept of {campaign_id} here: it was accepted, or changed nothing",
            next_command="forecast-backfill status",
        )
    if kept.is_back:
        return AlreadyBack(partition=partition)
    if stands is None or stands.writer != campaign_id:
        return Left(
            partition=partition,
            reason=f"{_writer(stands)} has written it since",
            next_command="nothing, what came later stands; a later campaign is rolled back first, "
            "even one whose rows lost",
        )
    if kept.is_elsewhere:
        return Left(
            partition=partition,
            reason=f"before {campaign_id} its rows lay in the lakehouse, out of a rollback's reach",
            next_command="land the earlier files, then forecast-backfill backfill",
        )
    if stands.status is PartitionStatus.RUNNING and not stands.is_epoch_over:
        return Left(
            partition=partition,
            reason=f"run {stands.run_id} is at work on it",
            next_command="wait for it, or forecast-backfill kill; then roll back again",
        )
    status, output = after_rollback(stands.status, kept.output)
    return PutBack(status=status, output=output)


def _writer(stands: Stands | None) -> str:
    if stands is None or stands.writer is None:
        return "somebody who was not recorded"
    return stands.writer


def reason_of_rollback(outcome: Left | NotRolledBack) -> str:
    """One line fit for an operator that says why the partition was not put back."""
    match outcome:
        case Left(reason=reason, next_command=next_command):
            return f"{reason}. Next: {next_command}"
        case NotRolledBack(reason=reason):
            return reason
        case _:
            assert_never(outcome)
