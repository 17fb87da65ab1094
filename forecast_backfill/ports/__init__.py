"""What the application needs of the world, as Protocols; adapters live in the outer packages.

Longer than other modules on purpose: all that a partition task is handed is read in one place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date as Date
from datetime import datetime
from enum import StrEnum
from typing import Protocol, runtime_checkable

from forecast_backfill.core.admission import Conditions, WaitCause
from forecast_backfill.core.bucket import BucketLevel
from forecast_backfill.core.fingerprint import Fingerprint
from forecast_backfill.core.identity import OutputIdentity as OutputIdentity
from forecast_backfill.core.merge import Claim, Key, MergeCounts, MergeRow, Standing
from forecast_backfill.core.outcome import Outcome
from forecast_backfill.core.parity import Exclusion, Mismatch
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.shadow_check import ShadowWrite
from forecast_backfill.core.source import ControlTotals, FaultReport
from forecast_backfill.core.states import OutputState, PartitionStatus, Workload
from forecast_backfill.core.strategy import Choice, Target
from forecast_backfill.core.version import Authority, Version, Winner


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """Who asks for partitions, and how: the same for nightly, backfill, CLI and both engines.

    `run_id` is Dagster's run id or the CLI's own; `campaign_id` the backfill id, None outside a
    campaign. `epoch` is the workload's epoch when the run began: a kill raises it, and then nothing
    of this run can commit. `reprocess` writes also what the ledger has as done. `winner` asks for
    an overlap: the campaign then merges, on either side of the seam. `revision` is the number of
    the overlapping campaign, 0 without one. `chunk_rows` is how many rows are written at a time.
    """

    workload: Workload
    run_id: str
    campaign_id: str | None
    epoch: int
    reprocess: bool = False
    winner: Winner | None = None
    revision: int = 0
    chunk_rows: int = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class LandedFile:
    """One landed file as it was read: its name inside the partition's folder and its bytes."""

    name: str
    content: bytes

    @property
    def size(self) -> int:
        """In bytes."""
        return len(self.content)

    @property
    def sha256(self) -> str:
        """The hash of its bytes, in hexadecimal digits."""
        return hashlib.sha256(self.content).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class HashedFile:
    """A landed file whose bytes were hashed and let go: they are read again where it is judged."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LandedSource:
    """All that was landed for a partition, read once; `digest` covers names and bytes of it all.

    `files` holds the sales files found (none where the file is missing, several where it is
    ambiguous); `manifest` is the content of manifest.json, None where there is none.
    """

    partition: Partition
    files: tuple[LandedFile, ...] | tuple[HashedFile, ...]
    manifest: bytes | None
    digest: str


class Dimensions(Protocol):
    """The dimensions for one partition; `version` changes whenever any value of them does."""

    @property
    def version(self) -> str: ...


class Rows(Protocol):
    """Rows ready to be written, in the engine's own form."""

    @property
    def num_rows(self) -> int: ...


@runtime_checkable
class StreamedRows(Rows, Protocol):
    """Rows that are somewhere else and come piece by piece."""

    def pieces(self) -> Iterator[Rows]:
        """The pieces in their order, each in the engine's own form; at least one."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A good source, transformed: `rows` sorted by key, with their fingerprint.

    `exclusions` counts the landed lines that each declared rule left out, by rule name.
    """

    rows: Rows
    fingerprint: Fingerprint
    totals: ControlTotals
    exclusions: Mapping[str, Exclusion]
    source_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A bad source, with every reason."""

    report: FaultReport


class Landing(Protocol):
    """Where source files come from. Reading never changes a landed file."""

    def read(self, partition: Partition) -> LandedSource:
        """Read the partition's files and manifest once."""
        ...

    def dimensions(self, partition: Partition) -> Dimensions:
        """The dimensions that hold for the partition.

        Raises LandingIncomplete where a dimension that every partition needs is absent.
        """
        ...


class Engine(Protocol):
    """Validates, transforms and fingerprints one landed partition; does no I/O of its own."""

    @property
    def code_version(self) -> str:
        """Changes whenever the same source would give other rows."""
        ...

    def prepare(self, source: LandedSource, dimensions: Dimensions) -> Prepared | Rejected:
        """Judge the source and, where it is good, build the rows of `daily_demand`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """A partition as the ledger has it; `identity` and `fingerprint` describe the stored output.

    `is_shadow_due`: a shadow does not hold this output yet.
    """

    partition: Partition
    status: PartitionStatus
    output: OutputState
    attempt: int
    identity: OutputIdentity | None
    fingerprint: Fingerprint | None
    authority: Authority | None = None
    is_merged: bool = False
    is_shadow_due: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What the commit records next to the rows; `choice` is how they were written, and why."""

    identity: OutputIdentity
    fingerprint: Fingerprint
    totals: ControlTotals
    exclusions: Mapping[str, Exclusion]
    version: Version
    replaced_rows: int
    seconds: float
    choice: Choice | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeCompletion:
    """What the commit of a merge records.

    `claim` is what the writer stated, `stored` what the partition now holds. `holds` tells whether
    the claim is the highest statement, so that its identity describes the output. A guest is a
    campaign beside the owner: it leaves an attempt that is running to its run.
    """

    claim: Completion
    stored: Fingerprint
    counts: MergeCounts
    holds: bool
    is_guest: bool


class Ledger(Protocol):
    """The record of every partition: one row each, and an append-only history of events.

    Every change of status is one guarded update; TransitionRefused where the arrow is not in the
    table of states. DatabaseInterrupted where the database went away.
    """

    def find(self, partition: Partition) -> LedgerRow | None: ...

    def start(self, partition: Partition, request: RunRequest) -> LedgerRow:
        """Move to running and count the attempt."""
        ...

    def unchanged(self, partition: Partition, request: RunRequest) -> None:
        """Record that nothing had to be done."""
        ...

    def quarantine(
        self,
        partition: Partition,
        request: RunRequest,
        *,
        report: FaultReport,
        source_digest: str,
        seconds: float,
    ) -> None:
        """Move to quarantined, mark an older output stale, and keep the faults."""
        ...

    def refuse(self, partition: Partition, request: RunRequest, *, reason: str) -> None:
        """Record a refusal as an event; the row of the owner's partition is left alone."""
        ...

    def mismatch(
        self, partition: Partition, request: RunRequest, *, mismatch: Mismatch, seconds: float
    ) -> None:
        """Move to mismatched and record both sides."""
        ...

    def fail(self, partition: Partition, request: RunRequest, *, reason: str) -> None:
        """Move to failed from running; no row is changed where the partition is not running."""
        ...

    def quarantine_beside(
        self, partition: Partition, request: RunRequest, *, report: FaultReport, source_digest: str
    ) -> None:
        """Keep the faults that a guest has found; status and output are the owner's to change."""
        ...

    def find_claim(self, partition: Partition, authority: Authority) -> OutputIdentity | None:
        """What the authority's highest statement about a merged partition was made from."""
        ...

    def note_beside(
        self, partition: Partition, request: RunRequest, *, status: PartitionStatus, reason: str
    ) -> None:
        """Record what became of an attempt beside the owner, as an event; the row is its owner's.

        Running says that it has begun.
        """
        ...


class PartitionTransaction(Protocol):
    """One open transaction over one partition; leaving it by an exception rolls it all back."""

    def take_lease(self) -> None:
        """Wait for the partition's lease, to be held until the transaction ends.

        Raises PartitionLeased after the lock timeout.
        """
        ...

    def hold_epoch(self) -> None:
        """Lock the workload's epoch row against a kill until the transaction ends.

        Raises EpochRaised where the epoch is no longer that of the request.
        """
        ...

    def keep_superseded(
        self, becomes: Fingerprint | None = None, version: Version | None = None
    ) -> int:
        """Keep what is about to be changed, for a rollback; how many rows were copied.

        None are where the rows become the same bytes, by their fingerprint and version, nor where
        the campaign has kept them before.
        """
        ...

    def keep_record(self) -> None:
        """Keep the record of the output, where its rows will not be changed."""
        ...

    def replace(self, rows: Rows, version: Version) -> int:
        """Delete the partition's rows and write `rows`; how many were deleted."""
        ...

    def fingerprint(self) -> Fingerprint:
        """The fingerprint of what is stored now, computed by the database from the columns."""
        ...

    def write_shadows(self, data_version: str | None) -> tuple[ShadowWrite, ...]:
        """Write what is stored now into every shadow, as of the live rows' `data_version`.

        What a shadow refuses is recorded there and told; it is no error.
        """
        ...

    def fill_shadows(self) -> tuple[ShadowWrite, ...]:
        """The same, where nothing is written but the shadows."""
        ...

    def swap_leaf(self, rows: Rows, version: Version) -> int:
        """Build a leaf of `rows` that takes the old one's place at the end; rows of the old one.

        Only in a table with one leaf a partition.
        """
        ...

    def standing(self) -> Standing:
        """What stands in the partition, as of when the epoch was held."""
        ...

    def stored_rows(self) -> Mapping[Key, MergeRow]:
        """The partition's rows as the oracle of a merge reads them, hashed by the database."""
        ...

    def claim_of(self, rows: Rows, version: Version) -> Claim:
        """The engine's rows as a claim."""
        ...

    def merge(self, rows: Rows, version: Version, standing: Standing) -> int:
        """Merge `rows` by version, row by row; how many rows that added, changed or removed."""
        ...

    def statements(self) -> Mapping[tuple[Authority, int], tuple[int, int]]:
        """Rows and sum of hashes of each (authority, source version) that is stored now."""
        ...

    def complete(self, completion: Completion) -> None:
        """Move the ledger to done, append the event, close an open quarantine."""
        ...

    def complete_merge(self, completion: MergeCompletion) -> OutputIdentity:
        """Record the claim and what is stored; the identity that describes it."""
        ...

    def forget_claims(self) -> None:
        """The owner has replaced the partition whole: older statements about it count no more."""
        ...


class Warehouse(Protocol):
    """Where `daily_demand` is stored."""

    def target(self) -> Target:
        """How the table is laid out, and from which size on a leaf is swapped."""
        ...

    def transaction(
        self, partition: Partition, request: RunRequest
    ) -> AbstractContextManager[PartitionTransaction]: ...


class Control(Protocol):
    """The knobs that on-call turns, and what admission is decided by."""

    def epoch(self, workload: Workload) -> int:
        """The workload's current epoch."""
        ...

    def conditions(self, workload: Workload) -> Conditions:
        """The knobs, holds and pace as of now; health is measured first where that is due."""
        ...


class Slots(Protocol):
    """The engine's slots, shared by every process; a crash frees its slots."""

    def try_acquire(
        self, limit: int, weight: int = 1
    ) -> AbstractContextManager[tuple[int, ...]] | None:
        """`weight` slots with an index below `limit`, held for the block; None where too few are
        free."""
        ...


class Waits(Protocol):
    """The record of who waits for what, and for how long."""

    def add(
        self, request: RunRequest, cause: WaitCause, *, reason: str, seconds: float, is_over: bool
    ) -> None:
        """The run waited so many more seconds for `cause`; until it is over it counts as held."""
        ...


class Rate(Protocol):
    """The token bucket of each workload, shared by every worker of it."""

    def take(self, workload: Workload, rows: int) -> BucketLevel:
        """Take a turn of `rows`; its number is `taken` of the level."""
        ...

    def look(self, workload: Workload) -> BucketLevel:
        """The level now, at the rate that is asked for now."""
        ...

    def give_back(self, workload: Workload, rows: int) -> None:
        """A turn of `rows` that will not be used: those after it come so much earlier."""
        ...


class Clock(Protocol):
    """Time, injected: nothing below the wiring looks at a clock."""

    def now(self) -> datetime:
        """The current instant, aware, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that only grow."""
        ...

    def sleep(self, seconds: float) -> None: ...


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
