"""Finds the rows in which two sides differ, reading only below nodes of the digest tree that do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from forecast_backfill.core.digest_tree import (
    EMPTY,
    ROOT,
    Bucket,
    Digest,
    RowDifference,
    RowDigest,
    differing,
    differing_partitions,
    differing_rows,
    explain,
    is_leaf,
    kind_of,
    split,
    tree_of,
)
from forecast_backfill.core.parity import MismatchKind
from forecast_backfill.core.partition import DateRange, Partition

KEPT_ROWS = 1000
"""Differing rows that are named of one partition; all are counted."""


class PartitionSide(Protocol):
    """One side's rows of a partition, as of one moment."""

    def split(self, partition: Partition, parent: Bucket) -> Mapping[Bucket, Digest]:
        """The digests of the parent's children that hold a row."""
        ...

    def rows(self, partition: Partition, bucket: Bucket) -> Sequence[RowDigest]:
        """The rows of one bucket."""
        ...


class TableSide(PartitionSide, Protocol):
    """One side with many partitions."""

    def partitions(
        self, dates: DateRange, regions: Sequence[str] | None
    ) -> Mapping[Partition, Digest]:
        """The digest of every partition that holds a row; None means every region."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsAtHand:
    """A side whose rows of one partition are in memory."""

    all_rows: Sequence[RowDigest]

    def split(self, partition: Partition, parent: Bucket) -> Mapping[Bucket, Digest]:
        """The digests of the parent's children."""
        return split(self.all_rows, parent)

    def rows(self, partition: Partition, bucket: Bucket) -> Sequence[RowDigest]:
        """The rows of one bucket."""
        return [row for row in self.all_rows if row.key_hash in bucket]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionDifference:
    """Where and how a partition differs.

    `rows` names the first keys, `differing` counts all. `read` counts rows that were fetched,
    `scanned` those that either side had to look at, each time that it had to.
    """

    partition: Partition
    kind: MismatchKind
    reason: str
    expected: Digest
    found: Digest
    rows: tuple[RowDifference, ...]
    differing: int
    read: int
    scanned: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Localised:
    """What a comparison of two tables came to."""

    partitions: int
    expected: Digest
    found: Digest
    differences: tuple[PartitionDifference, ...]


@dataclass(slots=True)
class _Descent:
    partition: Partition
    expected: PartitionSide
    found: PartitionSide
    rows_of_both: int
    differences: list[RowDifference]
    read: int = 0
    scanned: int = 0

    def below(self, bucket: Bucket, expected: Digest, found: Digest) -> None:
        self.scanned += self.rows_of_both
        if is_leaf(bucket, expected, found):
            ours = self.expected.rows(self.partition, bucket)
            theirs = self.found.rows(self.partition, bucket)
            self.read += len(ours) + len(theirs)
            self.differences += differing_rows(ours, theirs)
            return
        ours = self.expected.split(self.partition, bucket)
        theirs = self.found.split(self.partition, bucket)
        for child in differing(ours, theirs):
            self.below(child, ours.get(child, EMPTY), theirs.get(child, EMPTY))


def localise_partition(
    partition: Partition,
    *,
    expected: PartitionSide,
    found: PartitionSide,
    digests: tuple[Digest, Digest],
) -> PartitionDifference:
    """The differing rows of a partition whose digests (expected, found) differ."""
    ours, theirs = digests
    descent = _Descent(partition, expected, found, ours.rows + theirs.rows, [])
    descent.below(ROOT, ours, theirs)
    return PartitionDifference(
        partition=partition,
        kind=kind_of(ours, theirs),
        reason=explain(ours, theirs),
        expected=ours,
        found=theirs,
        rows=tuple(sorted(descent.differences, key=lambda each: each.key)[:KEPT_ROWS]),
        differing=len(descent.differences),
        read=descent.read,
        scanned=descent.scanned,
    )


def localise(
    *,
    expected: TableSide,
    found: TableSide,
    dates: DateRange,
    regions: Sequence[str] | None = None,
) -> Localised:
    """Compare two tables: one pass over either, then only what differs; None means every region."""
    ours = tree_of(expected.partitions(dates, regions))
    theirs = tree_of(found.partitions(dates, regions))
    differences = tuple(
        localise_partition(
            each,
            expected=expected,
            found=found,
            digests=(ours.partitions.get(each, EMPTY), theirs.partitions.get(each, EMPTY)),
        )
        for each in differing_partitions(ours, theirs)
    )
    return Localised(
        partitions=len(ours.partitions.keys() | theirs.partitions.keys()),
        expected=ours.total,
        found=theirs.total,
        differences=differences,
    )
