"""The commit of a prepared partition: the primitive is chosen, written, reconciled and recorded."""

from __future__ import annotations

from dataclasses import dataclass

from forecast_backfill.core.fingerprint import Fingerprint
from forecast_backfill.core.merge import MergeCounts, Standing, merge, require_version, revise
from forecast_backfill.core.merge_parity import compare_merge
from forecast_backfill.core.outcome import Mismatched, Written
from forecast_backfill.core.parity import Mismatch, Parity, compare
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import PartitionStatus, Workload
from forecast_backfill.core.strategy import Choice, WritePrimitive, WriteSituation, choose
from forecast_backfill.core.version import Version, authority_of
from forecast_backfill.ports import (
    Completion,
    LedgerRow,
    MergeCompletion,
    OutputIdentity,
    PartitionTransaction,
    Ports,
    Prepared,
    RunRequest,
    Step,
)


class _MismatchFound(Exception):
    """Carries a mismatch out of the transaction, so that leaving it rolls everything back."""

    def __init__(self, mismatch: Mismatch) -> None:
        self.mismatch = mismatch
        super().__init__(mismatch.reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt at a partition: `row` is the ledger's as it was when the attempt began.

    A guest is a campaign that writes beside the owner: it merges, and does not take over the
    owner's attempt. `started` is the clock's monotonic reading at the beginning.
    """

    partition: Partition
    row: LedgerRow | None
    identity: OutputIdentity
    is_guest: bool
    started: float


def commit(
    attempt: Attempt, prepared: Prepared, request: RunRequest, ports: Ports
) -> Written | Mismatched:
    """Write the partition in one transaction, or roll it back and record the mismatch.

    Raises what the transaction's steps raise, and MissingVersion where a merge has no version.
    """
    try:
        written = _write(attempt, prepared, request, ports)
    except _MismatchFound as found:
        _record_mismatch(attempt, found.mismatch, request, ports)
        return Mismatched(partition=attempt.partition, mismatch=found.mismatch)
    ports.checkpoint(Step.COMMITTED, attempt.partition)
    return written


def _record_mismatch(
    attempt: Attempt, mismatch: Mismatch, request: RunRequest, ports: Ports
) -> None:
    if attempt.is_guest:
        reason = f"{mismatch.kind}: {mismatch.reason}"
        ports.ledger.note_beside(
            attempt.partition, request, status=PartitionStatus.MISMATCHED, reason=reason
        )
        return
    seconds = ports.clock.monotonic() - attempt.started
    ports.ledger.mismatch(attempt.partition, request, mismatch=mismatch, seconds=seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """What the steps inside the transaction share."""

    transaction: PartitionTransaction
    attempt: Attempt
    prepared: Prepared
    request: RunRequest
    ports: Ports
    standing: Standing
    choice: Choice

    def pass_step(self, step: Step) -> None:
        self.ports.checkpoint(step, self.attempt.partition)

    def completion(self, version: Version, replaced_rows: int) -> Completion:
        return Completion(
            identity=self.attempt.identity,
            fingerprint=self.prepared.fingerprint,
            totals=self.prepared.totals,
            exclusions=self.prepared.exclusions,
            version=version,
            replaced_rows=replaced_rows,
            seconds=self.ports.clock.monotonic() - self.attempt.started,
            choice=self.choice,
        )


def _write(attempt: Attempt, prepared: Prepared, request: RunRequest, ports: Ports) -> Written:
    partition = attempt.partition
    with ports.warehouse.transaction(partition, request) as transaction:
        # The lease comes before every other lock: two writers of one partition then queue up in
        # one place, and each statement after it sees what the other committed.
        transaction.take_lease()
        ports.checkpoint(Step.LEASED, partition)
        transaction.hold_epoch()
        ports.checkpoint(Step.EPOCH_HELD, partition)
        standing = transaction.standing()
        work = _Work(
            transaction=transaction,
            attempt=attempt,
            prepared=prepared,
            request=request,
            ports=ports,
            standing=standing,
            choice=_choose(attempt, prepared, standing, request, ports),
        )
        match work.choice.primitive:
            case WritePrimitive.MERGE:
                written = _merge(work)
            case WritePrimitive.REPLACE | WritePrimitive.SWAP_LEAF:
                written = _replace(work)
            case WritePrimitive.SWAP_TABLE:
                raise AssertionError("a whole table is not swapped in a partition's transaction")
        work.pass_step(Step.RECORDED)
    return written


def _choose(
    attempt: Attempt, prepared: Prepared, standing: Standing, request: RunRequest, ports: Ports
) -> Choice:
    return choose(
        WriteSituation(
            rows=prepared.fingerprint.rows,
            target=ports.warehouse.target(),
            is_overlap=attempt.is_guest,
            is_merged=standing.is_merged,
            is_owner=request.workload is Workload.BACKFILL and not attempt.is_guest,
        )
    )


def _replace(work: _Work) -> Written:
    transaction, prepared = work.transaction, work.prepared
    version = _version_of(work)
    # A leaf is built before the old rows are read: until then no lock is held that a swap takes.
    is_swap = work.choice.primitive is WritePrimitive.SWAP_LEAF
    replaced_rows = transaction.swap_leaf(prepared.rows, version) if is_swap else 0
    transaction.keep_superseded(prepared.fingerprint, version)
    work.pass_step(Step.SUPERSEDED_KEPT)
    if not is_swap:
        replaced_rows = transaction.replace(prepared.rows, version)
    if work.standing.is_merged:
        transaction.forget_claims()
    work.pass_step(Step.REPLACED)
    fingerprint = _fingerprint_or_raise(
        compare(
            read=prepared.fingerprint,
            stored=transaction.fingerprint(),
            totals=prepared.totals,
            exclusions=prepared.exclusions,
        )
    )
    work.pass_step(Step.FINGERPRINTED)
    transaction.write_shadows(fingerprint.data_version)
    completion = work.completion(version, replaced_rows)
    transaction.complete(completion)
    return _written(work, completion, work.attempt.identity, fingerprint, None)


def _merge(work: _Work) -> Written:
    transaction, prepared = work.transaction, work.prepared
    version = _version_of(work)
    require_version(version)
    claim = transaction.claim_of(prepared.rows, version)
    expected = merge(transaction.stored_rows(), work.standing, claim)
    if expected.counts.changed:
        transaction.keep_superseded()
    else:
        transaction.keep_record()
    work.pass_step(Step.SUPERSEDED_KEPT)
    transaction.merge(prepared.rows, version, work.standing)
    work.pass_step(Step.REPLACED)
    fingerprint = _fingerprint_or_raise(
        compare_merge(
            claimed=prepared.fingerprint,
            totals=prepared.totals,
            exclusions=prepared.exclusions,
            expected=expected,
            stored=transaction.fingerprint(),
            statements=transaction.statements(),
        )
    )
    work.pass_step(Step.FINGERPRINTED)
    transaction.write_shadows(fingerprint.data_version)
    completion = work.completion(version, expected.counts.updated + expected.counts.deleted)
    identity = transaction.complete_merge(
        MergeCompletion(
            claim=completion,
            stored=fingerprint,
            counts=expected.counts,
            holds=expected.floor == version,
            is_guest=work.attempt.is_guest,
        )
    )
    return _written(work, completion, identity, fingerprint, expected.counts)


def _version_of(work: _Work) -> Version:
    request = work.request
    version = Version(
        authority=authority_of(request.workload, request.winner),
        source_version=work.prepared.source_version,
        revision=request.revision if work.choice.primitive is WritePrimitive.MERGE else 0,
    )
    if request.workload is Workload.NIGHTLY and work.standing.is_merged:
        is_restated = work.standing.identity != work.attempt.identity
        return revise(version, work.standing, is_restated=is_restated)
    return version


def _fingerprint_or_raise(result: Parity | Mismatch) -> Fingerprint:
    if isinstance(result, Mismatch):
        raise _MismatchFound(result)
    return result.fingerprint


def _written(
    work: _Work,
    completion: Completion,
    identity: OutputIdentity,
    fingerprint: Fingerprint,
    merged: MergeCounts | None,
) -> Written:
    return Written(
        partition=work.attempt.partition,
        identity=identity,
        fingerprint=fingerprint,
        exclusions=work.prepared.exclusions,
        lines=work.prepared.totals.lines,
        replaced_rows=completion.replaced_rows,
        seconds=completion.seconds,
        merge=merged,
    )
