"""Which primitive writes a partition, and why: decided before anything is written."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

LARGE_ROWS = 50_000
"""From how many rows on building a leaf beside the old one is faster than replacing in place."""


class WritePrimitive(StrEnum):
    """The ways in which a partition comes into the target, one implementation each."""

    MERGE = "merge"
    REPLACE = "replace"
    SWAP_LEAF = "swap_leaf"
    SWAP_TABLE = "swap_table"


class Layout(StrEnum):
    """How the target table is laid out: one plain table, or one leaf a (date, region)."""

    PLAIN = "plain"
    LEAVES = "leaves"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The table that is written.

    `large_rows`: from how many rows on a leaf is swapped. `needs_one_version`: some reader keeps a
    snapshot open over several statements, and an older snapshot sees a swapped leaf empty.
    `is_lakehouse`: the target is a Delta table, whose layout is always one file a partition.
    """

    layout: Layout = Layout.PLAIN
    large_rows: int = LARGE_ROWS
    needs_one_version: bool = True
    is_lakehouse: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A primitive with the reason for it, fit for an operator."""

    primitive: WritePrimitive
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteSituation:
    """What the choice is made from.

    `is_overlap`: the campaign writes beside nightly. `is_merged`: an overlap has been merged into
    the partition. `is_owner`: a campaign on a date before the seam, which is its own. `rows` are
    those of the partition. `is_new_shape`: the target gets other columns or types. A whole table is
    swapped by `forecast-backfill shadow`, never inside a partition's transaction.
    """

    rows: int
    target: Target = field(default_factory=Target)
    is_overlap: bool = False
    is_merged: bool = False
    is_owner: bool = False
    is_new_shape: bool = False


def choose(situation: WriteSituation) -> Choice:
    """The primitive for a partition, or for the partitions of a plan."""
    if situation.is_new_shape:
        return Choice(
            primitive=WritePrimitive.SWAP_TABLE,
            reason="the target gets another shape: it is built beside the live one and swapped",
        )
    if situation.is_overlap:
        return Choice(
            primitive=WritePrimitive.MERGE,
            reason="the campaign writes beside nightly: the higher version of every row stays",
        )
    if situation.is_merged and not situation.is_owner:
        return Choice(
            primitive=WritePrimitive.MERGE,
            reason="an overlap was merged into the partition: nightly keeps to the same order",
        )
    return _by_size(situation)


def _by_size(situation: WriteSituation) -> Choice:
    size, target = f"{situation.rows} rows", situation.target
    if target.is_lakehouse:
        return Choice(
            primitive=WritePrimitive.REPLACE,
            reason=f"{size} in a Delta table: a new file in one commit, readers see one version",
        )
    if target.layout is Layout.PLAIN:
        return Choice(
            primitive=WritePrimitive.REPLACE,
            reason=f"{size} in a plain table: delete and copy, readers see one version always",
        )
    if situation.rows < target.large_rows:
        return Choice(
            primitive=WritePrimitive.REPLACE,
            reason=f"{size} are fewer than {target.large_rows}: not worth a table of their own",
        )
    if target.needs_one_version:
        return Choice(
            primitive=WritePrimitive.REPLACE,
            reason=f"{size}, but some reader keeps a snapshot open, in which a swapped leaf is "
            "empty",
        )
    return Choice(
        primitive=WritePrimitive.SWAP_LEAF,
        reason=f"{size} are at least {target.large_rows}: built beside the old leaf and "
        "attached; readers of the date wait for the moment of the swap",
    )
