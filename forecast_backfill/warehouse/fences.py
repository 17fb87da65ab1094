"""The two fences of every writing transaction: the lease of what it writes, and the epoch."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from forecast_backfill.core.errors import EpochRaised, PartitionLeased
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import Workload
from forecast_backfill.ports import RunRequest
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.statements import statements

GATE_CLASS = 0x6570_6F63
"""The gate through which every commit goes: the bytes of "epoc". A kill closes it."""

_LEASE_POLL_SECONDS = 0.02

GATE_NUMBERS = {Workload.NIGHTLY: 1, Workload.BACKFILL: 2}


def key_of(subject: str) -> int:
    """The advisory lock of a subject: a signed 64-bit hash of its name."""
    return int.from_bytes(hashlib.sha256(subject.encode()).digest()[:8], signed=True)


def take_lease(
    connection: psycopg.Connection[Any],
    *,
    key: int,
    name: str,
    what: str,
    partition: Partition | None = None,
) -> None:
    """Wait for a lease, to be held until the transaction ends.

    Raises PartitionLeased after the lock timeout.
    """
    try:
        statements().take_lease(connection, name=name, key=key)
    except psycopg.errors.LockNotAvailable as error:
        raise _leased(what, partition) from error


def take_lease_last(
    connection: psycopg.Connection[Any],
    *,
    key: int,
    name: str,
    what: str,
    partition: Partition | None = None,
) -> None:
    """Take a lease once nobody holds it or waits for it, to be held until the transaction ends.

    Who waits in the lock's queue gets it first, so that nightly never stands behind a campaign that
    writes beside it. Raises PartitionLeased after the lock timeout.
    """
    began = time.monotonic()
    while True:
        tried = statements().try_lease(connection, name=name, key=key)
        if tried["is_taken"]:
            return
        if time.monotonic() - began > tried["patience_seconds"]:
            raise _leased(what, partition)
        time.sleep(_LEASE_POLL_SECONDS)


def _leased(what: str, partition: Partition | None) -> PartitionLeased:
    return PartitionLeased(
        f"{what} is being written by another task",
        why="its lease was not free within the lock timeout",
        next_command="nothing, it is tried again; forecast-backfill status shows who runs",
        partition=partition,
    )


def hold_epoch(
    connection: psycopg.Connection[Any], request: RunRequest, partition: Partition | None = None
) -> None:
    """Lock the workload's epoch row against a kill until the transaction ends.

    Raises EpochRaised where the epoch is no longer that of the request.
    """
    workload = request.workload
    held = statements().hold_epoch(
        connection, workload=workload, gate_class=GATE_CLASS, number=GATE_NUMBERS[workload]
    )
    refuse_other_epoch(held["epoch"], request, partition)


def refuse_other_epoch(epoch: int, request: RunRequest, partition: Partition | None) -> None:
    """Raise EpochRaised where the epoch is no longer that of the request."""
    workload = request.workload
    if epoch != request.epoch:
        raise EpochRaised(
            f"{workload} was killed",
            why=f"this run began in epoch {request.epoch}, now it is {epoch}",
            next_command="forecast-backfill backfill … (launch the campaign again)",
            partition=partition,
        )


@contextmanager
def fenced(
    session: Session, request: RunRequest, subject: str
) -> Iterator[psycopg.Connection[dict[str, Any]]]:
    """A READ COMMITTED transaction that holds the lease of `subject` and the epoch."""
    with session.transaction() as connection:
        name = f"{request.run_id[:36]} {subject}"[:63]
        take_lease(connection, key=key_of(subject), name=name, what=subject)
        hold_epoch(connection, request)
        yield connection
