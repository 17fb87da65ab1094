"""What the application needs of the world, as Protocols; adapters live in the outer packages.

Here is what a partition task is handed; night, rollback, shadow and others have their own modules.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date as Date
from enum import StrEnum
from typing import Protocol

from forecast_backfill.core.identity import OutputIdentity
from forecast_backfill.core.outcome import Outcome
from forecast_backfill.core.partition import Partition
from forecast_backfill.ports.control import Clock, Control, Rate, Slots, Waits
from forecast_backfill.ports.ledger import Completion, Ledger, LedgerRow, MergeCompletion
from forecast_backfill.ports.request import RunRequest
from forecast_backfill.ports.source import (
    Dimensions,
    Engine,
    HashedFile,
    LandedFile,
    LandedSource,
    Landing,
    Prepared,
    Rejected,
    Rows,
    StreamedRows,
)
from forecast_backfill.ports.warehouse import PartitionTransaction, Warehouse

__all__ = [
    "Checkpoint",
    "Clock",
    "Completion",
    "Control",
    "Dimensions",
    "Engine",
    "HashedFile",
    "LandedFile",
    "LandedSource",
    "Landing",
    "Ledger",
    "LedgerRow",
    "MergeCompletion",
    "OutputIdentity",
    "PartitionTransaction",
    "Ports",
    "Prepared",
    "Rate",
    "Rejected",
    "Retry",
    "Rows",
    "RunRequest",
    "Slots",
    "Step",
    "StreamedRows",
    "Waits",
    "Warehouse",
]


class Step(StrEnum):
    """The boundaries between the steps of a partition task, in their order."""

    ADMITTED = "admitted"
    READ = "read"
    STARTED = "started"
    PREPARED = "prepared"
    LEASED = "leased"
    EPOCH_HELD = "epoch_held"
    SUPERSEDED_KEPT = "superseded_kept"
    REPLACED = "replaced"
    FINGERPRINTED = "fingerprinted"
    RECORDED = "recorded"
    COMMITTED = "committed"


class Checkpoint(Protocol):
    """Called at every boundary; does nothing in production, interrupts in the crash tests."""

    def __call__(self, step: Step, partition: Partition) -> None: ...


Retry = Callable[[Callable[[], Outcome]], Outcome]
"""Runs an attempt, and again after a DatabaseInterrupted, with backoff and jitter, a few times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Everything a partition task is handed; `seam` is the first date that nightly owns.

    `as_of` is the last date, where the installation does not stand at today.
    """

    landing: Landing
    engine: Engine
    ledger: Ledger
    warehouse: Warehouse
    control: Control
    slots: Slots
    waits: Waits
    rate: Rate
    clock: Clock
    retry: Retry
    checkpoint: Checkpoint
    seam: Date
    as_of: Date | None = None
