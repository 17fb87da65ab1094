"""A batch whose partitions run in other processes: started, watched, cancelled, told.

Each partition goes there through `run_partition`, with admission, lease, epoch and ledger as here.
What is decided here is only when the job as a whole starts and when it is cancelled.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Protocol

from forecast_backfill.app.admission import (
    ADMISSION_POLL_SECONDS,
    may_run,
    wait_for,
    wait_for_turn,
)
from forecast_backfill.core.admission import Wait, WaitCause
from forecast_backfill.core.errors import DatabaseInterrupted, ForecastBackfillError
from forecast_backfill.core.outcome import Failed, Outcome
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import PartitionStatus
from forecast_backfill.ports import Ports, RunRequest

PATIENCE_SECONDS = 60.0
"""How long a partition at work may keep a paused job's cores; then it is rolled back."""
LOST_JOBS = 2
"""So often a job may break before what is left of it counts as failed."""

Report = Outcome | ForecastBackfillError


class Job(Protocol):
    """A job over partitions, running elsewhere."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more will be reported."""
        ...

    @property
    def failure(self) -> str | None:
        """Why the job broke; None while it runs and where it did not."""
        ...

    def poll(self, seconds: float) -> Iterator[Report]:
        """What was reported, after waiting at most so long for it."""
        ...

    def cancel(self) -> None:
        """End it and whatever it runs now, and wait for that."""
        ...


class Share(Protocol):
    """What a workload may take of the other side; one batch at a time has it."""

    def try_take(self) -> AbstractContextManager[None] | None:
        """The share, held for the block; None where another batch has it."""
        ...


Start = Callable[[Sequence[Partition], int, bool], AbstractContextManager[Job]]
"""Starts a job over the partitions, which may hold so many slots; if true, one task a partition.

What it needs of the other side it gives back at the end of the block.
"""


@contextmanager
def share_held(request: RunRequest, ports: Ports, share: Share) -> Generator[None]:
    """Wait until no other batch of the workload has the share; hold it for the block."""
    wait = Wait(
        cause=WaitCause.CAP, reason=f"another run has the Spark cores of {request.workload}"
    )
    with wait_for(request, ports, lambda conditions: share.try_take() or wait):
        yield


def run_elsewhere(
    partitions: Iterable[Partition],
    request: RunRequest,
    ports: Ports,
    tell: Callable[[Outcome], None],
    start: Start,
) -> list[Outcome]:
    """Try every partition and tell each outcome as soon as it has come back.

    While the workload may not run there is no job: one that runs is cancelled once no partition is
    at work, and what it left is started again. Raises EpochRaised and DatabaseInterrupted as
    `run_batch` does, and any error that kept the other side from starting.
    """
    left = dict.fromkeys(partitions)
    outcomes: list[Outcome] = []

    def take(outcome: Outcome) -> None:
        left.pop(outcome.partition, None)
        tell(outcome)
        outcomes.append(outcome)

    lost = 0
    while left:
        limit = wait_for_turn(request, ports)
        with start(list(left), limit, lost > 0) as job:
            try:
                was_cancelled = _follow(job, left, request, ports, take)
            except BaseException:
                job.cancel()
                with suppress(Exception):
                    _fail_running(left, request, ports, "its job was stopped")
                raise
        if was_cancelled or not left:
            continue
        lost += 1
        if lost >= LOST_JOBS:
            reason = f"its job broke: {job.failure or 'it ended early'}"
            for partition in list(left):
                take(_fail(partition, request, ports, reason))
    return outcomes


def _follow(
    job: Job,
    left: dict[Partition, None],
    request: RunRequest,
    ports: Ports,
    take: Callable[[Outcome], None],
) -> bool:
    """Until the job is over; whether it was cancelled because its workload may not run."""
    waiting_since: float | None = None
    while not job.is_over:
        for report in job.poll(ADMISSION_POLL_SECONDS):
            if isinstance(report, ForecastBackfillError):
                raise report
            take(report)
        # A database that does not answer is waited for by the partitions at work.
        with suppress(DatabaseInterrupted):
            if may_run(request, ports):
                waiting_since = None
                continue
            now = ports.clock.monotonic()
            waiting_since = now if waiting_since is None else waiting_since
            if now - waiting_since > PATIENCE_SECONDS or not any(_running(left, ports)):
                job.cancel()
                return bool(left)
    return False


def _running(left: Iterable[Partition], ports: Ports) -> Iterator[Partition]:
    for partition in left:
        row = ports.ledger.find(partition)
        if row is not None and row.status is PartitionStatus.RUNNING:
            yield partition


def _fail_running(
    left: Iterable[Partition], request: RunRequest, ports: Ports, reason: str
) -> None:
    for partition in _running(left, ports):
        ports.ledger.fail(partition, request, reason=reason)


def _fail(partition: Partition, request: RunRequest, ports: Ports, reason: str) -> Failed:
    failed = Failed(partition=partition, reason=reason)

    def record() -> Outcome:
        ports.ledger.fail(partition, request, reason=reason)
        return failed

    ports.retry(record)
    return failed
