"""How fast a workload may go while production hurts: the levels, and what admission is told."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class PaceLevel(StrEnum):
    """Full speed, half of it, nothing for now, or nothing until a person resets the trip."""

    FULL = "full"
    HALF = "half"
    PAUSED = "paused"
    TRIPPED = "tripped"

    @property
    def is_stopped(self) -> bool:
        """Whether nothing may start at this level."""
        return self in (PaceLevel.PAUSED, PaceLevel.TRIPPED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """What a workload may do now: at most `share` (0 < share ≤ 1) of its cap, in chunks of rows.

    A stopped level admits nothing, whatever the share: it says where a recovery begins.
    """

    level: PaceLevel
    share: float
    chunk_rows: int
    reason: str

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise ValueError(f"a share of {self.share} is not above 0 and up to 1")
        if self.chunk_rows < 1:
            raise ValueError(f"a chunk of {self.chunk_rows} rows cannot be written")
