"""Signals of production's health: what a look at one gives, and from where on it hurts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """From which value on (higher is worse) a campaign goes at half pace, pauses, and turns red.

    Red pauses like `pause`, and trips where it lasts. `unit` is for people: s, B/s, or nothing.
    """

    half: float
    pause: float
    trip: float
    unit: str = "s"

    def __post_init__(self) -> None:
        limits = (self.half, self.pause, self.trip)
        if not all(isfinite(limit) for limit in limits) or not self.half > 0:
            raise ValueError("thresholds are numbers above 0")
        if not self.half < self.pause <= self.trip:
            raise ValueError("thresholds rise: half below pause, pause not above trip")

    def show(self, value: float) -> str:
        """The value with its unit, short."""
        match self.unit:
            case "B/s":
                return f"{value / 1e6:,.1f} MB/s"
            case "":
                return f"{value:.0%}"
            case unit:
                return f"{value:,.2f} {unit}" if value < 10 else f"{value:,.0f} {unit}"


REPLICATION_LAG = "replication_lag"
NIGHTLY_QUEUE_WAIT = "nightly_queue_wait"
CONNECTION_USE = "connection_use"
CANARY_READ = "canary_read"
WAL_RATE = "wal_rate"

DEFAULT_THRESHOLDS: Mapping[str, Thresholds] = {
    REPLICATION_LAG: Thresholds(half=5, pause=30, trip=120),
    NIGHTLY_QUEUE_WAIT: Thresholds(half=10, pause=30, trip=300),
    CONNECTION_USE: Thresholds(half=0.7, pause=0.85, trip=0.95, unit=""),
    CANARY_READ: Thresholds(half=0.25, pause=1, trip=1.5),
    WAL_RATE: Thresholds(half=60e6, pause=150e6, trip=300e6, unit="B/s"),
}
"""The signals that ship: seconds, the share of the connections in use, bytes a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A value that can be trusted; `detail` says of what, where a signal is about several."""

    value: float
    detail: str = ""

    def __post_init__(self) -> None:
        if not isfinite(self.value):
            raise ValueError(f"{self.value} is not a measured value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """No value, though there should be one: it counts as the worst."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotApplicable:
    """Nothing to look at, and it is known why: it counts neither way."""

    reason: str


Reading = Measured | Unreadable | NotApplicable


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a signal gives: the reading, and what it wants handed back at its next look (JSON)."""

    reading: Reading
    notes: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalLook:
    """A look at one named signal, with the thresholds that it is judged by."""

    name: str
    thresholds: Thresholds
    look: Look
