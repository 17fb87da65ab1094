"""What is landed, and what an engine makes of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from forecast_backfill.core.fingerprint import Fingerprint
from forecast_backfill.core.parity import Exclusion
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.source import ControlTotals, FaultReport


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
