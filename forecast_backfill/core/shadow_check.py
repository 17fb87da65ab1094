"""What a shadow was found to hold, and whether readers may go over to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from forecast_backfill.core.errors import ShadowRefused
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.shadow import READ, TRANSITIONS, ShadowState, sources_of

NAMED = 5
"""How many partitions a refusal names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DuePartition:
    """A partition that the shadow does not hold as it is live, with the reason.

    `rows` are the live ones. `is_done` tells whether the ledger has it as done, so that an ordinary
    campaign finds it unchanged. `left_out` is the reason of the person who left it out, if one did.
    """

    partition: Partition
    rows: int
    is_done: bool
    reason: str
    left_out: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowWrite:
    """A partition written into a shadow; `trouble` says why it was not, and None where it was."""

    shadow_id: int
    rows: int
    trouble: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedWrite:
    """A partition of nightly's that the shadow which is read has refused: readers see older rows.

    `state` is the shadow's: an adopted one cannot be reverted.
    """

    shadow_id: int
    state: ShadowState
    partition: Partition
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedPartition:
    """Both sides of a partition by the mapping: rows, and sums of their hashes."""

    partition: Partition
    live: tuple[int, int]
    shadow: tuple[int, int]
    left_out: str | None
    trouble: str | None = None

    @property
    def difference(self) -> str | None:
        """Why the sides are not equal; None where they are."""
        if self.trouble is not None:
            return self.trouble
        if self.live == self.shadow:
            return None
        if self.live[0] != self.shadow[0]:
            return f"the shadow has {self.shadow[0]} rows, by the mapping it is {self.live[0]}"
        return f"{self.live[0]} rows on either side, but not the same values"


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """What a comparison of all partitions came to."""

    partitions: int
    rows: int
    left_out: tuple[ComparedPartition, ...]
    differing: tuple[ComparedPartition, ...]

    @property
    def state(self) -> ShadowState:
        """What the shadow is after it."""
        return ShadowState.BUILDING if self.differing else ShadowState.VALIDATED


def sum_up(compared: Sequence[ComparedPartition]) -> Validation:
    """Count what is equal, what differs, and what differs but was left out by a person."""
    unequal = [each for each in compared if each.difference is not None]
    return Validation(
        partitions=len(compared),
        rows=sum(each.shadow[0] for each in compared),
        left_out=tuple(each for each in unequal if each.left_out is not None),
        differing=tuple(each for each in unequal if each.left_out is None),
    )


def require_move(shadow_id: int, state: ShadowState, target: ShadowState) -> None:
    """Raise ShadowRefused where no arrow leads from `state` to `target`."""
    if (state, target) in TRANSITIONS:
        return
    if target is ShadowState.DROPPED and state in READ:
        raise ShadowRefused(
            f"shadow {shadow_id} was not dropped",
            why="it is what readers read",
            next_command="forecast-backfill shadow revert --reason … (and then drop), or "
            "shadow drop --earlier to keep it and drop the version before it",
        )
    nexts = {
        ShadowState.SWAPPED: "forecast-backfill shadow validate",
        ShadowState.REVERTED: "forecast-backfill shadow status",
        ShadowState.ADOPTED: "forecast-backfill shadow status",
        ShadowState.VALIDATED: "forecast-backfill shadow revert --reason … (then validate again)",
    }
    sources = ", ".join(sources_of(target))
    raise ShadowRefused(
        f"shadow {shadow_id} cannot become {target}",
        why=f"it is {state}; only one that is {sources} can",
        next_command=nexts.get(target, "forecast-backfill shadow status"),
    )


def require_followed(shadow_id: int, state: ShadowState, *, is_held: bool) -> None:
    """Raise ShadowRefused where the shadow is held: readers read it as it was, beside nightly."""
    if is_held and state in READ:
        raise ShadowRefused(
            f"shadow {shadow_id} is held",
            why="readers read it while campaigns rebuild daily_demand: only nightly writes both",
            next_command="forecast-backfill shadow revert --reason … (to all that was rebuilt)",
        )


def require_complete(shadow_id: int, due: Sequence[DuePartition]) -> None:
    """Raise ShadowRefused where a partition is due that nobody has left out."""
    open_ones = [each for each in due if each.left_out is None]
    if not open_ones:
        return
    named = "; ".join(f"{each.partition}: {each.reason}" for each in open_ones[:NAMED])
    more = f" and {len(open_ones) - NAMED} more" if len(open_ones) > NAMED else ""
    raise ShadowRefused(
        f"shadow {shadow_id} is not swapped",
        why=f"{len(open_ones)} partitions are not as they are live: {named}{more}",
        next_command="forecast-backfill shadow backfill, then shadow validate",
    )
