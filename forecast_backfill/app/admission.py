"""Admission: a task or fit waits until its workload may run and enough slots are free."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Protocol, TypeVar

from forecast_backfill.core.admission import Admit, Conditions, Wait, WaitCause, admit
from forecast_backfill.core.errors import EpochRaised, ForecastBackfillError
from forecast_backfill.core.partition import Partition
from forecast_backfill.ports import Clock, Control, RunRequest, Slots, Waits

ADMISSION_POLL_SECONDS = 0.5

T = TypeVar("T")


class Admission(Protocol):
    """What admission needs of a use case's ports."""

    @property
    def control(self) -> Control: ...

    @property
    def slots(self) -> Slots: ...

    @property
    def waits(self) -> Waits: ...

    @property
    def clock(self) -> Clock: ...


@contextmanager
def admitted(
    request: RunRequest, ports: Admission, *, partition: Partition | None = None, weight: int = 1
) -> Generator[Conditions]:
    """Wait until the workload may run and `weight` slots are free; hold them for the block.

    The block is told under which conditions it was admitted. Every second waited is recorded with
    its cause. Raises EpochRaised where the workload was killed after the request was made.
    """
    conditions, held = _wait(
        request, ports, partition, lambda conditions: _try(conditions, request, ports, weight)
    )
    with held:
        yield conditions


def wait_for_turn(request: RunRequest, ports: Admission) -> int:
    """Wait until the workload may run, whether slots are free or not; how many it may hold.

    The seconds are recorded, and EpochRaised comes, as in `admitted`.
    """
    return wait_for(request, ports, lambda conditions: _limit_of(request, conditions))


def wait_for(request: RunRequest, ports: Admission, attempt: Callable[[Conditions], T | Wait]) -> T:
    """Wait until the attempt gives something else than a reason to wait; that.

    The seconds are recorded, and EpochRaised comes, as in `admitted`.
    """
    return _wait(request, ports, None, attempt)[1]


def may_run(request: RunRequest, ports: Admission) -> bool:
    """Whether the workload may run now; raises EpochRaised as `admitted` does."""
    return not isinstance(_limit_of(request, _look(request, ports, None)), Wait)


def _limit_of(request: RunRequest, conditions: Conditions) -> int | Wait:
    verdict = admit(request.workload, conditions)
    return verdict if isinstance(verdict, Wait) else verdict.limit


def _wait(
    request: RunRequest,
    ports: Admission,
    partition: Partition | None,
    attempt: Callable[[Conditions], T | Wait],
) -> tuple[Conditions, T]:
    waited: Wait | None = None
    try:
        while True:
            conditions = _look(request, ports, partition)
            held = attempt(conditions)
            if not isinstance(held, Wait):
                return conditions, held
            if waited is not None and waited.cause is not held.cause:
                _record(request, ports, waited, 0.0, is_over=True)
            waited = held
            began = ports.clock.monotonic()
            ports.clock.sleep(ADMISSION_POLL_SECONDS)
            _record(request, ports, held, ports.clock.monotonic() - began, is_over=False)
    finally:
        # Also where the run was told to stop. That a wait is over is worth no failure, least of
        # all one between taking slots and the block that frees them: unsaid, it soon expires.
        if waited is not None:
            with suppress(ForecastBackfillError):
                _record(request, ports, waited, 0.0, is_over=True)


def _look(request: RunRequest, ports: Admission, partition: Partition | None) -> Conditions:
    conditions = ports.control.conditions(request.workload)
    if conditions.epoch != request.epoch:
        raise EpochRaised(
            f"{request.workload} was killed",
            why=f"this run began in epoch {request.epoch}, now it is {conditions.epoch}",
            next_command="forecast-backfill backfill … (launch the campaign again)",
            partition=partition,
        )
    return conditions


def _try(
    conditions: Conditions, request: RunRequest, ports: Admission, weight: int
) -> AbstractContextManager[tuple[int, ...]] | Wait:
    verdict = admit(request.workload, conditions)
    match verdict:
        case Wait():
            return verdict
        case Admit(limit=limit):
            # A fit of backfill that is heavier than its limit would wait for ever.
            needed = min(weight, limit)
            taken = ports.slots.try_acquire(limit, needed)
            if taken is not None:
                return taken
            return Wait(
                cause=WaitCause.CAP, reason=f"all {limit} slots of {request.workload} are taken"
            )


def _record(
    request: RunRequest, ports: Admission, wait: Wait, seconds: float, *, is_over: bool
) -> None:
    ports.waits.add(request, wait.cause, reason=wait.reason, seconds=seconds, is_over=is_over)
