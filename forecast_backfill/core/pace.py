"""How fast a workload may go while production hurts: the levels, and what admission is told."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from forecast_backfill.core.pace_memory import PaceMemory
from forecast_backfill.core.pressure import PressureRules


class PaceLevel(StrEnum):
    """Full speed, less of it, nothing for now, or nothing until a person resets the trip."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceRules:
    """The numbers of the state machine.

    A look is due after `interval`; a state older than `stale_after` is not trusted. Pressure takes
    a full share to `half_share`, and multiplies it by `decrease` at most once a `settle`, down to
    `least_share`; calm adds `increase` every `grow_every`. A pause that has been calm for
    `cool_down` is probed with the least share; calm for `probe_time`, it grows again; a probe that
    hurts doubles the next cool-down, up to `longest_cool_down`.
    """

    pressure: PressureRules = field(default_factory=PressureRules)
    interval: timedelta = timedelta(seconds=2)
    stale_after: timedelta = timedelta(seconds=15)
    half_share: float = 0.5
    least_share: float = 0.1
    decrease: float = 0.5
    increase: float = 0.1
    settle: timedelta = timedelta(seconds=10)
    grow_every: timedelta = timedelta(seconds=4)
    cool_down: timedelta = timedelta(seconds=10)
    longest_cool_down: timedelta = timedelta(minutes=5)
    probe_time: timedelta = timedelta(seconds=10)
    full_chunk_rows: int = 8192
    least_chunk_rows: int = 512

    def __post_init__(self) -> None:
        if not 0 < self.least_share <= self.half_share < 1:
            raise ValueError("the shares rise: above 0, least, half, below 1")
        if not 0 < self.decrease < 1 or not 0 < self.increase < 1:
            raise ValueError("a decrease multiplies, an increase adds, each by a part of 1")
        if not 1 <= self.least_chunk_rows <= self.full_chunk_rows:
            raise ValueError("a chunk has at least a row, and the least is not the largest")
        if self.stale_after <= self.interval:
            raise ValueError("a state that is not due yet cannot be stale")

    def chunk_rows(self, share: float) -> int:
        """Rows a chunk at that share: smaller ones under pressure leave more room between them."""
        return max(self.least_chunk_rows, round(self.full_chunk_rows * share))


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceState:
    """The pace as of `sampled_at` (None: never), with the signal that decided it.

    `changed_at` is when level, share or chunk last changed.
    """

    level: PaceLevel
    share: float
    chunk_rows: int
    signal: str | None
    value: float | None
    reason: str
    changed_at: datetime
    sampled_at: datetime | None
    memory: PaceMemory = field(default_factory=PaceMemory)

    @property
    def pace(self) -> Pace:
        """What admission is told."""
        return Pace(
            level=self.level, share=self.share, chunk_rows=self.chunk_rows, reason=self.reason
        )

    def differs_from(self, other: PaceState) -> bool:
        """Whether the pace is another one, which is an event."""
        mine = (self.level, self.share, self.chunk_rows)
        return mine != (other.level, other.share, other.chunk_rows)

    def is_due(self, rules: PaceRules, now: datetime) -> bool:
        """Whether it is time for a look; an instant ahead of now is another clock's, no proof."""
        at = self.sampled_at
        return at is None or not timedelta(0) <= now - at < rules.interval

    def is_trusted(self, rules: PaceRules, now: datetime) -> bool:
        """Whether the state still says something about production."""
        at = self.sampled_at
        return at is not None and -rules.interval <= now - at <= rules.stale_after


def distrusted(state: PaceState, rules: PaceRules, now: datetime) -> PaceState:
    """What holds until somebody has looked: nothing starts; a trip stays a trip."""
    if state.level is PaceLevel.TRIPPED:
        return state
    if state.sampled_at is None:
        known = "was not measured yet"
    else:
        seconds = (now - state.sampled_at).total_seconds()
        known = f"was last measured {seconds:,.0f} s ago"
    return replace(
        state,
        level=PaceLevel.PAUSED,
        share=rules.least_share,
        chunk_rows=rules.chunk_rows(rules.least_share),
        signal=None,
        value=None,
        reason=f"production's health {known}; another process is measuring it",
    )
