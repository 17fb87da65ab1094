"""The one transaction in which a partition is written."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from forecast_backfill.core.fingerprint import Fingerprint
from forecast_backfill.core.identity import OutputIdentity
from forecast_backfill.core.merge import Claim, Key, MergeRow, Standing
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.shadow_check import ShadowWrite
from forecast_backfill.core.strategy import Target
from forecast_backfill.core.version import Authority, Version
from forecast_backfill.ports.ledger import Completion, MergeCompletion
from forecast_backfill.ports.request import RunRequest
from forecast_backfill.ports.source import Rows


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
