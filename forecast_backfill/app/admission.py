"""Admission: a task or fit waits until its workload may run and a slot is free."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Protocol

from forecast_backfill.core.capacity import cap_for
from forecast_backfill.core.errors import EpochRaised
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import Workload
from forecast_backfill.ports import Clock, Control, RunRequest, Slots

ADMISSION_POLL_SECONDS = 0.5


class Admission(Protocol):
    """What admission needs of a use case's ports."""

    @property
    def control(self) -> Control: ...

    @property
    def slots(self) -> Slots: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def slot_count(self) -> int: ...

    @property
    def nightly_peak(self) -> int: ...


@contextmanager
def admitted(
    request: RunRequest, ports: Admission, *, partition: Partition | None = None
) -> Generator[None]:
    """Wait until the workload may run and a slot is free; hold the slot for the block.

    Raises EpochRaised where the workload was killed after the request was made.
    """
    while True:
        state = ports.control.read(request.workload)
        if state.epoch != request.epoch:
            raise EpochRaised(
                f"{request.workload} was killed",
                why=f"this run began in epoch {request.epoch}, now it is {state.epoch}",
                next_command="forecast-backfill backfill … (launch the campaign again)",
                partition=partition,
            )
        lease = (
            None if state.is_paused else ports.slots.try_acquire(_limit(request, state.cap, ports))
        )
        if lease is not None:
            with lease:
                yield
            return
        ports.clock.sleep(ADMISSION_POLL_SECONDS)


def _limit(request: RunRequest, asked: int | None, ports: Admission) -> int:
    match request.workload:
        case Workload.NIGHTLY:
            return ports.slot_count
        case Workload.BACKFILL:
            return cap_for(slots=ports.slot_count, nightly_peak=ports.nightly_peak, asked=asked)
