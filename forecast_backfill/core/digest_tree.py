"""The digest tree of two sides: total → date → region → 32 buckets → … → rows; which nodes differ.

A digest is a row count and the exact sum of hashes, so the digest of a node is the sum of those of
its children, and two sides need to look only below nodes that differ. The digest of a partition
leaves out date and region, which all its rows share: they are bound in above it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date as Date
from typing import Any, Protocol, TypeVar

from forecast_backfill.core.fingerprint import CHECKSUM_COLUMNS, row_hash
from forecast_backfill.core.parity import MismatchKind
from forecast_backfill.core.partition import Partition

BITS = 5
FANOUT = 1 << BITS
HASH_BITS = 60
DEEPEST = HASH_BITS // BITS
LEAF_ROWS = 256
"""A node of so many rows or fewer is not split further: its rows are read."""

CONTENT_COLUMNS = tuple(name for name in CHECKSUM_COLUMNS if name not in ("date", "region"))
"""What the digest of a partition hashes of a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """How many rows, and the exact sum of their hashes: the same in whatever order they lie."""

    rows: int
    checksum: int

    def __add__(self, other: Digest) -> Digest:
        return Digest(rows=self.rows + other.rows, checksum=self.checksum + other.checksum)


EMPTY = Digest(rows=0, checksum=0)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Bucket:
    """The rows whose key hash begins with `depth` × 5 bits that read `index`; depth 0 holds all."""

    depth: int
    index: int

    @property
    def shift(self) -> int:
        """By how many bits a key hash is shifted right to give the index of its bucket."""
        return HASH_BITS - BITS * self.depth

    def of(self, key_hash: int) -> Bucket:
        """The child of this bucket in which a key hash of this bucket lies."""
        depth = self.depth + 1
        return Bucket(depth=depth, index=key_hash >> (HASH_BITS - BITS * depth))

    def __contains__(self, key_hash: object) -> bool:
        return isinstance(key_hash, int) and key_hash >> self.shift == self.index


ROOT = Bucket(depth=0, index=0)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class RowDigest:
    """One row of a partition: its key within it (store and product) and the hash of the row.

    The hash covers key and every value; whether date and region too is the same on both sides.
    """

    key: tuple[str, ...]
    hash: int

    @property
    def key_hash(self) -> int:
        """What decides the row's bucket: the same on both sides, whatever its values are."""
        return row_hash(self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowDifference:
    """A key whose rows differ; `expected` and `found` count its rows on either side."""

    key: tuple[str, ...]
    kind: MismatchKind
    expected: int
    found: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """The upper levels of one side, rolled up from its partitions, each bound to its place."""

    partitions: Mapping[Partition, Digest]
    dates: Mapping[Date, Digest]
    total: Digest


def tree_of(partitions: Mapping[Partition, Digest]) -> Tree:
    """Roll the partitions up to their dates and the total.

    A checksum up there is the sum of hashes of (date, region, rows, checksum of the partition).
    """
    dates: dict[Date, Digest] = {}
    for partition, digest in partitions.items():
        dates[partition.date] = dates.get(partition.date, EMPTY) + _bound(partition, digest)
    return Tree(partitions=partitions, dates=dates, total=sum(dates.values(), EMPTY))


def _bound(partition: Partition, digest: Digest) -> Digest:
    # Else rows that lie in another region, or two regions whose rows are swapped, would not show.
    place = (partition.date.isoformat(), partition.region)
    return Digest(rows=digest.rows, checksum=row_hash((*place, digest.rows, digest.checksum)))


class Sortable(Protocol):
    """What names a child of a node."""

    def __lt__(self, other: Any, /) -> bool: ...

    def __hash__(self) -> int: ...


K = TypeVar("K", bound=Sortable)


def differing(expected: Mapping[K, Digest], found: Mapping[K, Digest]) -> tuple[K, ...]:
    """The children whose digests differ, sorted; an absent one counts as empty."""
    names = expected.keys() | found.keys()
    return tuple(
        sorted(name for name in names if expected.get(name, EMPTY) != found.get(name, EMPTY))
    )


def differing_partitions(expected: Tree, found: Tree) -> tuple[Partition, ...]:
    """The partitions that differ, found from the total down."""
    if expected.total == found.total:
        return ()
    dates = set(differing(expected.dates, found.dates))
    return differing(_within(expected.partitions, dates), _within(found.partitions, dates))


def is_leaf(bucket: Bucket, expected: Digest, found: Digest) -> bool:
    """Whether the bucket's rows are read now: they are few, or all of one key."""
    return bucket.depth == DEEPEST or max(expected.rows, found.rows) <= LEAF_ROWS


def split(rows: Iterable[RowDigest], parent: Bucket) -> Mapping[Bucket, Digest]:
    """The digests of the parent's children, over rows that are at hand."""
    children: dict[Bucket, Digest] = {}
    for row in rows:
        key_hash = row.key_hash
        if key_hash in parent:
            child = parent.of(key_hash)
            digest = Digest(rows=1, checksum=row.hash)
            children[child] = children.get(child, EMPTY) + digest
    return children


def kind_of(expected: Digest, found: Digest) -> MismatchKind:
    """How two digests that differ do so, named as in core/parity.py."""
    if factor_of(expected, found) is not None:
        return MismatchKind.EXACT_MULTIPLE
    if found.rows < expected.rows:
        return MismatchKind.MISSING_ROWS
    if found.rows > expected.rows:
        return MismatchKind.EXTRA_ROWS
    return MismatchKind.VALUES_DIFFER


def factor_of(expected: Digest, found: Digest) -> int | None:
    """How many times every expected row was found, where that is exactly so and more than once."""
    if not expected.rows or found.rows <= expected.rows or found.rows % expected.rows:
        return None
    factor = found.rows // expected.rows
    return factor if found.checksum == factor * expected.checksum else None


def explain(expected: Digest, found: Digest) -> str:
    """The difference in words, with both values."""
    factor = factor_of(expected, found)
    if factor is not None:
        return f"every row is there {factor} times"
    if expected.rows != found.rows:
        return f"{expected.rows} rows expected, {found.rows} found"
    return f"{expected.rows} rows on both sides, their values differ"


def differing_rows(
    expected: Sequence[RowDigest], found: Sequence[RowDigest]
) -> tuple[RowDifference, ...]:
    """The keys whose rows differ as multisets, sorted."""
    ours, theirs = _by_key(expected), _by_key(found)
    return tuple(
        _difference(key, ours.get(key, Counter()), theirs.get(key, Counter()))
        for key in sorted(ours.keys() | theirs.keys())
        if ours.get(key) != theirs.get(key)
    )


def _difference(key: tuple[str, ...], expected: Counter[int], found: Counter[int]) -> RowDifference:
    kind = kind_of(_digest_of(expected), _digest_of(found))
    return RowDifference(key=key, kind=kind, expected=expected.total(), found=found.total())


def _digest_of(hashes: Counter[int]) -> Digest:
    return Digest(rows=hashes.total(), checksum=sum(each * count for each, count in hashes.items()))


def _by_key(rows: Sequence[RowDigest]) -> dict[tuple[str, ...], Counter[int]]:
    keys: dict[tuple[str, ...], Counter[int]] = {}
    for row in rows:
        keys.setdefault(row.key, Counter())[row.hash] += 1
    return keys


def _within(partitions: Mapping[Partition, Digest], dates: set[Date]) -> Mapping[Partition, Digest]:
    return {each: digest for each, digest in partitions.items() if each.date in dates}
