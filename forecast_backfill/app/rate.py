"""The rate: before a partition's rows are committed, their turns of the bucket have to come."""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol

from forecast_backfill.core.admission import Conditions, Wait, WaitCause
from forecast_backfill.core.bucket import BucketLevel, split_into_turns
from forecast_backfill.core.errors import EpochRaised, ForecastBackfillError
from forecast_backfill.core.partition import Partition
from forecast_backfill.ports import Clock, Rate, RunRequest, Waits

RATE_POLL_SECONDS = 0.5
"""How long a waiter sleeps before it asks again: a changed knob takes hold within it."""


class Rated(Protocol):
    """What the rate needs of a use case's ports."""

    @property
    def rate(self) -> Rate: ...

    @property
    def waits(self) -> Waits: ...

    @property
    def clock(self) -> Clock: ...


def wait_for_rate(
    rows: int,
    request: RunRequest,
    conditions: Conditions,
    ports: Rated,
    *,
    partition: Partition | None = None,
) -> Wait | None:
    """Take turns for `rows`, one after the other, each as soon as it has come; None when all have.

    Never to be called inside a transaction. Without a rate at admission nothing is asked. A pause
    ends the waiting, and is returned: the task goes back to admission. Raises EpochRaised where the
    workload was killed.
    """
    if conditions.rate is None:
        return None
    chunk_rows = conditions.pace.chunk_rows
    for turn in split_into_turns(rows, rate=conditions.rate, chunk_rows=chunk_rows):
        paused = _wait_for_turn(turn, request, ports, partition)
        if paused is not None:
            return paused
    return None


def _wait_for_turn(
    rows: int, request: RunRequest, ports: Rated, partition: Partition | None
) -> Wait | None:
    level = ports.rate.take(request.workload, rows)
    turn = level.taken
    try:
        while True:
            paused = _stopped(level, request, partition)
            seconds = level.seconds_until(turn)
            if paused is not None:
                ports.rate.give_back(request.workload, rows)
                return paused
            is_over = seconds <= RATE_POLL_SECONDS
            if seconds > 0:
                _sleep(min(seconds, RATE_POLL_SECONDS), level, request, ports, is_over=is_over)
            if is_over:
                return None
            level = ports.rate.look(request.workload)
    except BaseException:
        # Whoever stops here writes nothing; what cannot be returned is one turn.
        with suppress(ForecastBackfillError):
            ports.rate.give_back(request.workload, rows)
        raise


def _stopped(level: BucketLevel, request: RunRequest, partition: Partition | None) -> Wait | None:
    if level.epoch != request.epoch:
        raise EpochRaised(
            f"{request.workload} was killed",
            why=f"this run began in epoch {request.epoch}, now it is {level.epoch}",
            next_command="forecast-backfill backfill … (launch the campaign again)",
            partition=partition,
        )
    if level.is_paused:
        return Wait(cause=WaitCause.PAUSE, reason=f"paused: {level.reason}")
    return None


def _sleep(
    seconds: float, level: BucketLevel, request: RunRequest, ports: Rated, *, is_over: bool
) -> None:
    began = ports.clock.monotonic()
    ports.clock.sleep(seconds)
    ports.waits.add(
        request,
        WaitCause.RATE,
        reason=f"the rate is {level.rate:,} rows a second",
        seconds=ports.clock.monotonic() - began,
        is_over=is_over,
    )
