"""Roll a campaign back: partition by partition, the exact bytes that stood before it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from forecast_backfill.app.admission import admitted
from forecast_backfill.app.rate import wait_for_rate
from forecast_backfill.core.admission import Wait
from forecast_backfill.core.errors import (
    EpochRaised,
    ForecastBackfillError,
    RollbackMismatched,
)
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.rollback import (
    Kept,
    NotRolledBack,
    PutBack,
    RollbackOutcome,
    RolledBack,
    Stands,
    judge_rollback,
)
from forecast_backfill.core.states import OutputState
from forecast_backfill.ports import RunRequest
from forecast_backfill.ports.rollback import KeptPartition, RollbackPorts, RollbackTransaction


def roll_back(
    partitions: Iterable[KeptPartition],
    campaign_id: str,
    request: RunRequest,
    ports: RollbackPorts,
    tell: Callable[[RollbackOutcome], None],
) -> list[RollbackOutcome]:
    """Put back every partition in turn, and tell each outcome as soon as it is known.

    A partition that cannot be put back does not keep the others from it. What is back already is
    left alone, so that a rollback that was interrupted is simply run again. Raises EpochRaised
    where the workload was killed, and DatabaseInterrupted where the database stays away so long
    that not even a failure can be recorded.
    """
    outcomes: list[RollbackOutcome] = []
    for each in partitions:
        try:
            outcome = ports.retry(lambda each=each: _try(each, campaign_id, request, ports))
        except EpochRaised:
            raise
        except ForecastBackfillError as error:
            outcome = _fail(each.partition, request, ports, str(error))
        tell(outcome)
        outcomes.append(outcome)
    return outcomes


def _fail(
    partition: Partition, request: RunRequest, ports: RollbackPorts, reason: str
) -> NotRolledBack:
    failed = NotRolledBack(partition=partition, reason=reason)

    def record() -> RollbackOutcome:
        ports.ledger.fail(partition, request, reason=reason)
        return failed

    ports.retry(record)
    return failed


def _try(
    each: KeptPartition, campaign_id: str, request: RunRequest, ports: RollbackPorts
) -> RollbackOutcome:
    while True:
        outcome = _attempt(each, campaign_id, request, ports)
        if not isinstance(outcome, Wait):
            return outcome


def _attempt(
    each: KeptPartition, campaign_id: str, request: RunRequest, ports: RollbackPorts
) -> RollbackOutcome | Wait:
    partition = each.partition
    with admitted(request, ports, partition=partition) as conditions:
        started = ports.clock.monotonic()
        paused = wait_for_rate(each.rows, request, conditions, ports, partition=partition)
        if paused is not None:
            return paused
        with ports.rollbacks.transaction(partition, campaign_id, request) as transaction:
            transaction.take_lease()
            transaction.hold_epoch()
            kept, stands = transaction.find()
            verdict = judge_rollback(partition, campaign_id, kept, stands)
            if not isinstance(verdict, PutBack):
                return verdict
            assert kept is not None
            assert stands is not None
            removed = _restore(partition, kept, stands, transaction)
            is_gone = verdict.output is OutputState.ABSENT
            transaction.write_shadows(None if is_gone else kept.expected.data_version)
            seconds = ports.clock.monotonic() - started
            transaction.complete(
                verdict,
                reason=f"campaign {campaign_id} was rolled back",
                removed_rows=removed,
                seconds=seconds,
            )
    return RolledBack(
        partition=partition,
        output=verdict.output,
        rows=kept.expected.rows,
        removed_rows=removed,
        seconds=seconds,
    )


def _restore(
    partition: Partition, kept: Kept, stands: Stands, transaction: RollbackTransaction
) -> int:
    """Put the rows back and reconcile them; how many rows went. Raises RollbackMismatched."""
    removed = transaction.restore(kept)
    if kept.has_rows and removed != stands.rows:
        raise RollbackMismatched(
            "the partition was not rolled back",
            why=f"it held {removed} rows, the ledger has {stands.rows}: somebody else wrote there",
            next_command="forecast-backfill reconcile (names the rows), then roll back again",
            partition=partition,
        )
    stored = transaction.fingerprint()
    if stored != kept.expected:
        raise RollbackMismatched(
            "the partition was not rolled back",
            why=f"what was put back has fingerprint {stored.data_version} ({stored.rows} rows), "
            f"before the campaign it was {kept.expected.data_version} ({kept.expected.rows} rows)",
            next_command="forecast-backfill reconcile, then forecast-backfill backfill --reprocess",
            partition=partition,
        )
    return removed
