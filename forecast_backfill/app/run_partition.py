"""The one order of steps for a partition: nightly, backfill, CLI and every engine use it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace

from forecast_backfill.app.admission import admitted
from forecast_backfill.app.commit_partition import Attempt, commit
from forecast_backfill.app.fill_shadow import fill_due_shadow
from forecast_backfill.app.rate import wait_for_rate
from forecast_backfill.core.admission import Wait
from forecast_backfill.core.errors import DatabaseInterrupted, EpochRaised, ForecastBackfillError
from forecast_backfill.core.export_instant import judge_export
from forecast_backfill.core.outcome import Failed, Outcome, Quarantined, Refused, Unchanged
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.seam import GoBeside, SeamRefusal, judge
from forecast_backfill.core.states import OutputState, PartitionStatus, Workload
from forecast_backfill.core.version import authority_of
from forecast_backfill.ports import (
    LandedSource,
    LedgerRow,
    OutputIdentity,
    Ports,
    Prepared,
    Rejected,
    RunRequest,
    Step,
)


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
    verdict = judge(
        partition=partition,
        workload=request.workload,
        seam=ports.seam,
        is_overlap=request.winner is not None,
    )
    if isinstance(verdict, SeamRefusal):
        return ports.retry(lambda: _refuse(partition, verdict, request, ports))
    try:
        is_guest = isinstance(verdict, GoBeside)
        return ports.retry(lambda: _try(partition, request, ports, is_guest=is_guest))
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


def _try(partition: Partition, request: RunRequest, ports: Ports, *, is_guest: bool) -> Outcome:
    while True:
        outcome = _attempt(partition, request, ports, is_guest=is_guest)
        if not isinstance(outcome, Wait):
            return outcome
        # Paused while it waited for the rate: its slot is free, and admission waits on.


def _attempt(
    partition: Partition, request: RunRequest, ports: Ports, *, is_guest: bool
) -> Outcome | Wait:
    with admitted(request, ports, partition=partition) as conditions:
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
        if before is not None and not request.reprocess:
            made_from = _done_from(before, identity, request, ports)
            if made_from is not None:
                paused = fill_due_shadow(before, request, conditions, ports)
                if paused is not None:
                    return paused
                ports.ledger.unchanged(partition, request)
                assert before.fingerprint is not None
                return Unchanged(
                    partition=partition, identity=made_from, fingerprint=before.fingerprint
                )
        # A guest leaves the row to the owner, whose attempt may be under way.
        if is_guest:
            ports.ledger.note_beside(partition, request, status=PartitionStatus.RUNNING, reason="")
        row = before if is_guest else ports.ledger.start(partition, request)
        ports.checkpoint(Step.STARTED, partition)
        prepared = _believed(ports.engine.prepare(source, dimensions), ports)
        ports.checkpoint(Step.PREPARED, partition)
        attempt = Attempt(
            partition=partition, row=row, identity=identity, is_guest=is_guest, started=started
        )
        if isinstance(prepared, Rejected):
            if before is not None:
                paused = fill_due_shadow(before, request, conditions, ports)
                if paused is not None:
                    return paused
            return _quarantine(source, prepared, attempt, request, ports)
        count = prepared.rows.num_rows
        paused = wait_for_rate(count, request, conditions, ports, partition=partition)
        if paused is not None:
            return paused
        request = replace(request, chunk_rows=conditions.pace.chunk_rows)
        return commit(attempt, prepared, request, ports)


def _believed(prepared: Prepared | Rejected, ports: Ports) -> Prepared | Rejected:
    """What the engine made, unless the export lies in the future: an engine knows no clock."""
    if isinstance(prepared, Rejected):
        return prepared
    report = judge_export(
        source_version=prepared.source_version, now=ports.clock.now(), as_of=ports.as_of
    )
    return prepared if report is None else Rejected(report=report)


def _done_from(
    row: LedgerRow, identity: OutputIdentity, request: RunRequest, ports: Ports
) -> OutputIdentity | None:
    """What the readable output was made from, where this request would change nothing of it."""
    if row.status is not PartitionStatus.DONE or row.output is not OutputState.CURRENT:
        return None
    authority = authority_of(request.workload, request.winner)
    is_beside = request.winner is not None
    is_owner = request.workload is Workload.BACKFILL and not is_beside
    if row.identity == identity:
        # Where writers meet, the same rows are stated again by a higher authority.
        is_lower = row.authority is not None and row.authority < authority
        is_due = is_lower and (is_beside or (row.is_merged and not is_owner))
        return None if is_due else identity
    if not row.is_merged or is_owner:
        return None
    return row.identity if ports.ledger.find_claim(row.partition, authority) == identity else None


def _quarantine(
    source: LandedSource, rejected: Rejected, attempt: Attempt, request: RunRequest, ports: Ports
) -> Quarantined:
    row = attempt.row
    if attempt.is_guest:
        ports.ledger.quarantine_beside(
            source.partition, request, report=rejected.report, source_digest=source.digest
        )
    else:
        ports.ledger.quarantine(
            source.partition,
            request,
            report=rejected.report,
            source_digest=source.digest,
            seconds=ports.clock.monotonic() - attempt.started,
        )
    return Quarantined(
        partition=source.partition,
        report=rejected.report,
        has_stale_output=row is not None and row.output is not OutputState.ABSENT,
    )
