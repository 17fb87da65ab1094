"""The merge of a claim into a partition, row by row: the oracle of what must be stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from forecast_backfill.core.errors import MissingVersion
from forecast_backfill.core.fingerprint import Fingerprint
from forecast_backfill.core.identity import OutputIdentity
from forecast_backfill.core.version import Authority, Version

Key = tuple[str, str]
"""Store and product: the key of a row inside its partition."""

_ABSENT_HASH = -1
"""Loses every tie: at one version, a row that one side has beats the other side's having none."""
_NEVER = (0, 0, -1)
"""The rank of a partition of which nobody has stated anything."""
_Rank = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRow:
    """What the merge needs of a row: its version, the hash of its values, and what is summed."""

    authority: Authority
    source_version: int
    row_hash: int
    units: int
    revenue_cents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What stands in a partition before a merge.

    `floor` is the highest version that anybody has stated the whole partition at, None where nobody
    has. It is what a missing key is missing at: a row that was dropped cannot come back under an
    older version, and no tombstone has to be kept. `identity` is what that statement was made
    from. `is_merged` tells whether the partition has been merged into before, after which every
    writer but its owner merges.
    """

    floor: Version | None = None
    identity: OutputIdentity | None = None
    is_merged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A whole partition as one writer states it: these rows, and no other key."""

    version: Version
    rows: Mapping[Key, MergeRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeCounts:
    """How many rows a merge added, changed, removed and left as they were."""

    inserted: int
    updated: int
    deleted: int
    kept: int

    @property
    def changed(self) -> int:
        """Rows that are other than before."""
        return self.inserted + self.updated + self.deleted


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """What must be stored after a merge."""

    rows: Mapping[Key, MergeRow]
    floor: Version
    counts: MergeCounts


class TieRule(StrEnum):
    """Which of two rows with the same authority and source version stays."""

    CLAIM = "claim"
    STORED = "stored"
    ROW_HASH = "row_hash"


def tie_rule(claim: Version, floor: Version | None) -> TieRule:
    """How rows that carry the claim's own authority and source version are judged.

    A stored row does not carry its revision: it is the floor's where the row is of the floor's
    statement, else 0.
    """
    stored = floor.revision if floor is not None and floor.is_same_statement(claim) else 0
    if claim.revision == stored:
        return TieRule.ROW_HASH
    return TieRule.CLAIM if claim.revision > stored else TieRule.STORED


def may_insert(claim: Version, floor: Version | None) -> bool:
    """Whether a key that is not stored comes in with the claim."""
    return floor is None or claim >= floor


def revise(version: Version, standing: Standing, *, is_restated: bool) -> Version:
    """The version of a claim by a writer whose statements have no number of their own (nightly).

    It may state the same export again with other code or dimensions (`is_restated`): then what it
    said before gives way, as it does where nobody else writes.
    """
    floor = standing.floor
    if floor is None or not floor.is_same_statement(version):
        return version
    revision = floor.revision + (1 if is_restated else 0)
    return Version(
        authority=version.authority, source_version=version.source_version, revision=revision
    )


def require_version(version: Version) -> None:
    """Refuse a claim whose source does not say when it was exported; raises MissingVersion."""
    if version.source_version <= 0:
        raise MissingVersion(
            "a merge was refused",
            why="the source has no version: its manifest says no instant of export after 1970",
            next_command="ask the retailer for a manifest with exported_at, then launch again",
        )


def merge(stored: Mapping[Key, MergeRow], standing: Standing, claim: Claim) -> Merged:
    """What must be stored once `claim` is merged into `stored`.

    For every key the higher of two statements stays: a row, or that there is none. Since the order
    is total, claims come to the same rows in whatever order and however often they are merged.
    Raises MissingVersion where the claim or a stored row has no source version.
    """
    require_version(claim.version)
    floor, rows = standing.floor, dict[Key, MergeRow]()
    inserted = updated = deleted = kept = 0
    for key, row in stored.items():
        require_version(Version(authority=row.authority, source_version=row.source_version))
        theirs, ours = claim.rows.get(key), _rank_of_stored(row, floor)
        if theirs == row or ours >= _rank_of_claimed(theirs, claim.version):
            rows[key], kept = row, kept + 1
        elif theirs is None:
            deleted += 1
        else:
            rows[key] = theirs
            updated += 1
    absent = (*(_NEVER if floor is None else floor.rank), _ABSENT_HASH)
    for key, row in claim.rows.items():
        if key not in stored and _rank_of_claimed(row, claim.version) > absent:
            rows[key] = row
            inserted += 1
    return Merged(
        rows=rows,
        floor=claim.version if floor is None else max(floor, claim.version),
        counts=MergeCounts(inserted=inserted, updated=updated, deleted=deleted, kept=kept),
    )


def fingerprint_of(rows: Mapping[Key, MergeRow]) -> Fingerprint:
    """The fingerprint of rows that must be stored."""
    return Fingerprint(
        rows=len(rows),
        checksum=sum(row.row_hash for row in rows.values()),
        units=sum(row.units for row in rows.values()),
        revenue_cents=sum(row.revenue_cents for row in rows.values()),
        stores=len({store for store, _ in rows}),
        products=len({product for _, product in rows}),
    )


def _rank_of_stored(row: MergeRow, floor: Version | None) -> _Rank:
    version = Version(authority=row.authority, source_version=row.source_version)
    revision = floor.revision if floor is not None and floor.is_same_statement(version) else 0
    return row.source_version, int(row.authority), revision, row.row_hash


def _rank_of_claimed(row: MergeRow | None, version: Version) -> _Rank:
    return (*version.rank, _ABSENT_HASH if row is None else row.row_hash)
