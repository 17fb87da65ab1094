"""Finds rows that were counted twice in any table, and collapses them to the newest a key."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from forecast_backfill.core.duplicates import (
    Content,
    Copies,
    Place,
    Signature,
    Tie,
    Writer,
    judge_collapse,
    sign,
)
from forecast_backfill.core.errors import TableRefused

KEPT_TIES = 100


class CollapseTransaction(Protocol):
    """One open transaction over one partition; leaving it by an exception rolls it all back."""

    def lock(self) -> None:
        """Keep every other writer of the table out until the transaction ends."""
        ...

    def ties(self, limit: int) -> Sequence[Tie]:
        """Keys whose newest rows differ, up to `limit`."""
        ...

    def survivors(self) -> Content:
        """The content of the newest row of every key."""
        ...

    def stored(self) -> Content:
        """The content of the partition as it is now."""
        ...

    def remove(self, repair_id: str) -> Content:
        """Keep every row but the newest a key aside and delete it; what was kept aside."""
        ...


class DuplicateTable(Protocol):
    """A table that may hold rows twice."""

    def copies(self) -> Sequence[Copies]:
        """The partitions with a doubled key."""
        ...

    def writers(self) -> Mapping[Place, Sequence[Writer]]:
        """Who wrote the rows of doubled keys, by partition, the earliest first."""
        ...

    def refuse_cascades(self) -> None:
        """Raise TableRefused where deleting a row would change rows of another table."""
        ...

    def transaction(self, place: Place) -> AbstractContextManager[CollapseTransaction]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One partition with doubled keys."""

    copies: Copies
    signature: Signature
    writers: tuple[Writer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A dry run: `removes` rows would go."""

    place: Place
    removes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Collapsed:
    """One row a key is left; the others were kept aside and deleted, in one transaction."""

    place: Place
    removed: int
    left: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NotCollapsed:
    """The partition was left as it is; `ties` names the first keys for a person to choose."""

    place: Place
    reason: str
    ties: tuple[Tie, ...] = ()


Repair = Planned | Collapsed | NotCollapsed


class _Unreconciled(Exception):
    """Carries a reason out of the transaction, so that leaving it rolls everything back."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


def diagnose(table: DuplicateTable) -> list[Finding]:
    """Every partition with doubled keys: how often, in what way, by whom; changes nothing."""
    copies = table.copies()
    if not copies:
        return []
    writers = table.writers()
    return [
        Finding(copies=each, signature=sign(each), writers=tuple(writers.get(each.place, ())))
        for each in copies
    ]


def repair(
    table: DuplicateTable,
    *,
    repair_id: str,
    is_dry: bool,
    tell: Callable[[Repair], None],
) -> list[Repair]:
    """Collapse every partition with doubled keys, each in a transaction of its own.

    A partition with a tie is left as it is, and so is one that does not reconcile, or whose rows
    the database does not let go: the others are collapsed all the same. `repair_id` names the rows
    that are kept aside. Raises TableRefused where rows of other tables hang on these.
    """
    table.refuse_cascades()
    repairs: list[Repair] = []
    for copies in table.copies():
        done = _plan(table, copies) if is_dry else _collapse(table, copies.place, repair_id)
        tell(done)
        repairs.append(done)
    return repairs


def _plan(table: DuplicateTable, copies: Copies) -> Planned | NotCollapsed:
    if not copies.ties:
        return Planned(place=copies.place, removes=copies.surplus)
    with table.transaction(copies.place) as transaction:
        return _tied(copies.place, transaction.ties(KEPT_TIES), copies.ties)


def _collapse(table: DuplicateTable, place: Place, repair_id: str) -> Collapsed | NotCollapsed:
    try:
        with table.transaction(place) as transaction:
            transaction.lock()
            ties = transaction.ties(KEPT_TIES)
            if ties:
                return _tied(place, ties, len(ties))
            before, expected = transaction.stored(), transaction.survivors()
            removed = transaction.remove(repair_id)
            after = transaction.stored()
            reason = judge_collapse(before=before, expected=expected, removed=removed, after=after)
            if reason is not None:
                raise _Unreconciled(reason)
    except _Unreconciled as found:
        reason = f"rolled back, it did not reconcile: {found.reason}"
        return NotCollapsed(place=place, reason=reason)
    except TableRefused as error:
        return NotCollapsed(place=place, reason=f"rolled back: {error.why}")
    return Collapsed(place=place, removed=removed.rows, left=after.rows)


def _tied(place: Place, ties: Sequence[Tie], count: int) -> NotCollapsed:
    number = f"{count} keys have" if count != 1 else "1 key has"
    reason = f"{number} newest rows of one version with different values"
    return NotCollapsed(place=place, reason=reason, ties=tuple(ties))
