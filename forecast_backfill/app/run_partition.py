"""The one order of steps for a partition: nightly, backfill, CLI and every engine use it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

from forecast_backfill.app.admission import admitted
from forecast_backfill.core.errors import DatabaseInterrupted, EpochRaised, ForecastBackfillError
from forecast_backfill.core.outcome import (
    Failed,
    Mismatched,
    Outcome,
    Quarantined,
    Refused,
    Unchanged,
    Written,
)
from forecast_backfill.core.parity import Mismatch, Parity, compare
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.seam import SeamRefusal, judge
from forecast_backfill.core.states import OutputState, PartitionStatus
from forecast_backfill.core.version import Version, authority_of
from forecast_backfill.ports import (
    Completion,
    LandedSource,
    LedgerRow,
    OutputIdentity,
    Ports,
    Prepared,
    Rejected,
    RunRequest,
    Step,
)


class _MismatchFound(Exception):
    """Carries a mismatch out of the transaction, so that leaving it rolls everything back."""

    def __init__(self, mismatch: Mismatch) -> None:
        self.mismatch = mismatch
        super().__init__(mismatch.reason)


def run_batch(
    partitions: Iterable[Partition],
    request: RunRequest,
    ports: Ports,
    tell: Callable[[Outcome], None],
) -> list[Outcome]:
    """Try every partition in turn and tell each outcome as soon as it is known.

    A partition that fails, in whatever way, does not keep the others from being tried. Raises
    EpochRaised where the workload was killed, and DatabaseInterrupted where the database stays away
    so long that not even a failure can be recorded: then the rest is not tried.
    """
    outcomes: list[Outcome] = []
    for partition in partitions:
        try:
            outcome = run_partition(partition, request, ports)
        except (EpochRaised, DatabaseInterrupted):
            raise
        except Exception as error:  # noqa: BLE001 — one partition's bug must not cost the others
            outcome = _fail(partition, request, ports, f"{type(error).__name__}: {error}")
        tell(outcome)
        outcomes.append(outcome)
    return outcomes


def run_partition(partition: Partition, request: RunRequest, ports: Ports) -> Outcome:
    """Admit, read, validate, transform and commit one partition; what it came to.

    Transient database errors repeat the whole partition. Raises EpochRaised where the workload was
    killed after the request was made, and DatabaseInterrupted where no failure can be recorded.
    """
    verdict = judge(partition=partition, workload=request.workload, seam=ports.seam)
    if isinstance(verdict, SeamRefusal):
        return ports.retry(lambda: _refuse(partition, verdict, request, ports))
    try:
        return ports.retry(lambda: _attempt(partition, request, ports))
    except EpochRaised as error:
        _fail(partition, request, ports, str(error))
        raise
    except ForecastBackfillError as error:
        return _fail(partition, request, ports, str(error))
    except Exception:
        raise
    except BaseException as stop:
        # Whoever cancels the run waits for it: one try, and the next run takes over what it leaves.
        with suppress(Exception):
            ports.ledger.fail(partition, request, reason=f"stopped by {type(stop).__name__}")
        raise


def _refuse(
    partition: Partition, refusal: SeamRefusal, request: RunRequest, ports: Ports
) -> Refused:
    ports.ledger.refuse(partition, request, reason=refusal.reason)
    return Refused(partition=partition, refusal=refusal)


def _fail(partition: Partition, request: RunRequest, ports: Ports, reason: str) -> Failed:
    failed = Failed(partition=partition, reason=reason)

    def record() -> Outcome:
        ports.ledger.fail(partition, request, reason=reason)
        return failed

    ports.retry(record)
    return failed


def _attempt(partition: Partition, request: RunRequest, ports: Ports) -> Outcome:
    with admitted(request, ports, partition=partition):
        started = ports.clock.monotonic()
        ports.checkpoint(Step.ADMITTED, partition)
        source = ports.landing.read(partition)
        dimensions = ports.landing.dimensions(partition)
        identity = OutputIdentity(
            source_digest=source.digest,
            code_version=ports.engine.code_version,
            dimension_version=dimensions.version,
        )
        ports.checkpoint(Step.READ, partition)
        before = ports.ledger.find(partition)
        if before is not None and not request.reprocess and _is_done(before, identity):
            ports.ledger.unchanged(partition, request)
            assert before.fingerprint is not None
            return Unchanged(partition=partition, identity=identity, fingerprint=before.fingerprint)
        row = ports.ledger.start(partition, request)
        ports.checkpoint(Step.STARTED, partition)
        prepared = ports.engine.prepare(source, dimensions)
        ports.checkpoint(Step.PREPARED, partition)
        if isinstance(prepared, Rejected):
            return _quarantine(source, prepared, row, request, ports, started)
        return _commit(row, prepared, identity, request, ports, started)


def _is_done(row: LedgerRow, identity: OutputIdentity) -> bool:
    return (
        row.status is PartitionStatus.DONE
        and row.output is OutputState.CURRENT
        and row.identity == identity
    )


def _quarantine(
    source: LandedSource,
    rejected: Rejected,
    row: LedgerRow,
    request: RunRequest,
    ports: Ports,
    started: float,
) -> Quarantined:
    ports.ledger.quarantine(
        source.partition,
        request,
        report=rejected.report,
        source_digest=source.digest,
        seconds=ports.clock.monotonic() - started,
    )
    return Quarantined(
        partition=source.partition,
        report=rejected.report,
        has_stale_output=row.output is not OutputState.ABSENT,
    )


def _commit(
    row: LedgerRow,
    prepared: Prepared,
    identity: OutputIdentity,
    request: RunRequest,
    ports: Ports,
    started: float,
) -> Written | Mismatched:
    try:
        written = _replace(row, prepared, identity, request, ports, started)
    except _MismatchFound as found:
        seconds = ports.clock.monotonic() - started
        ports.ledger.mismatch(row.partition, request, mismatch=found.mismatch, seconds=seconds)
        return Mismatched(partition=row.partition, mismatch=found.mismatch)
    ports.checkpoint(Step.COMMITTED, row.partition)
    return written


def _replace(
    row: LedgerRow,
    prepared: Prepared,
    identity: OutputIdentity,
    request: RunRequest,
    ports: Ports,
    started: float,
) -> Written:
    partition = row.partition
    version = Version(
        authority=authority_of(request.workload), source_version=prepared.source_version
    )
    with ports.warehouse.transaction(partition, request) as transaction:
        # The lease comes before every other lock: two writers of one partition then queue up in
        # one place, and each statement after it sees what the other committed.
        transaction.take_lease()
        ports.checkpoint(Step.LEASED, partition)
        transaction.hold_epoch()
        ports.checkpoint(Step.EPOCH_HELD, partition)
        if row.fingerprint is not None and row.fingerprint != prepared.fingerprint:
            transaction.keep_superseded()
        ports.checkpoint(Step.SUPERSEDED_KEPT, partition)
        replaced_rows = transaction.replace(prepared.rows, version)
        ports.checkpoint(Step.REPLACED, partition)
        result = compare(
            read=prepared.fingerprint,
            stored=transaction.fingerprint(),
            totals=prepared.totals,
            exclusions=prepared.exclusions,
        )
        if not isinstance(result, Parity):
            raise _MismatchFound(result)
        ports.checkpoint(Step.FINGERPRINTED, partition)
        seconds = ports.clock.monotonic() - started
        transaction.complete(
            Completion(
                identity=identity,
                fingerprint=result.fingerprint,
                totals=prepared.totals,
                exclusions=prepared.exclusions,
                version=version,
                replaced_rows=replaced_rows,
                seconds=seconds,
            )
        )
        ports.checkpoint(Step.RECORDED, partition)
    return Written(
        partition=partition,
        identity=identity,
        fingerprint=result.fingerprint,
        exclusions=prepared.exclusions,
        lines=prepared.totals.lines,
        replaced_rows=replaced_rows,
        seconds=seconds,
    )
