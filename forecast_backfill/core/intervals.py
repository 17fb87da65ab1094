"""Judges the validity of versions: half-open intervals of one key must neither overlap nor gap."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date as Date
from enum import StrEnum

LISTED_FAULTS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """One version of a key, valid on the dates `[start, end)`; None is an open end."""

    key: str
    start: Date | None
    end: Date | None

    def __contains__(self, day: object) -> bool:
        return (
            isinstance(day, Date)
            and (self.start is None or self.start <= day)
            and (self.end is None or day < self.end)
        )

    def __str__(self) -> str:
        return f"[{self.start or 'always'}, {self.end or 'open'})"


class IntervalFaultKind(StrEnum):
    """How versions contradict each other."""

    EMPTY = "empty"
    OVERLAP = "overlap"
    GAP = "gap"


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalFault:
    """What is wrong with a key, and on which dates `[start, end)`."""

    kind: IntervalFaultKind
    key: str
    start: Date | None
    end: Date | None

    @property
    def reason(self) -> str:
        """For an operator: the key and the dates."""
        where = f"[{self.start or 'always'}, {self.end or 'open'})"
        match self.kind:
            case IntervalFaultKind.EMPTY:
                return f"the version {where} of {self.key} holds no date"
            case IntervalFaultKind.OVERLAP:
                return f"two versions of {self.key} hold on {where}"
            case IntervalFaultKind.GAP:
                return f"no version of {self.key} holds on {where}, though others do around it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Coherent:
    """Every key has one version at most on any date, and none is missing where none may be."""

    keys: int
    versions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoherent:
    """The first faults by key and date, never none, and how many there are."""

    faults: tuple[IntervalFault, ...]
    total: int

    def __post_init__(self) -> None:
        if not 1 <= len(self.faults) <= self.total:
            raise ValueError(f"{len(self.faults)} faults listed of {self.total}")

    @property
    def reason(self) -> str:
        """The first fault, and how many more there are."""
        more = f", and {self.total - 1} more" if self.total > 1 else ""
        return self.faults[0].reason + more


def judge_intervals(intervals: Iterable[Interval], *, gapless: bool) -> Coherent | Incoherent:
    """Judge the versions of every key; where `gapless`, a key holds from its first to its last."""
    ordered = sorted(intervals, key=lambda each: (each.key, each.start or Date.min))
    faults: list[IntervalFault] = []
    keys = 0
    before: Interval | None = None
    for each in ordered:
        if before is None or before.key != each.key:
            keys += 1
            before = None
        fault = _empty(each) or _against(before, each, gapless)
        if fault is not None:
            faults.append(fault)
        if before is None or (before.end or Date.max) < (each.end or Date.max):
            before = each
    if faults:
        return Incoherent(faults=tuple(faults[:LISTED_FAULTS]), total=len(faults))
    return Coherent(keys=keys, versions=len(ordered))


def _empty(each: Interval) -> IntervalFault | None:
    if each.start is None or each.end is None or each.start < each.end:
        return None
    return _fault(IntervalFaultKind.EMPTY, each.key, each.start, each.end)


def _against(before: Interval | None, each: Interval, gapless: bool) -> IntervalFault | None:
    """The fault between the version that reaches furthest so far and the next by its start."""
    if before is None:
        return None
    if before.end is None or each.start is None or each.start < before.end:
        ends = [end for end in (before.end, each.end) if end is not None]
        end = min(ends) if ends else None
        return _fault(IntervalFaultKind.OVERLAP, each.key, each.start, end)
    if gapless and before.end < each.start:
        return _fault(IntervalFaultKind.GAP, each.key, before.end, each.start)
    return None


def _fault(
    kind: IntervalFaultKind, key: str, start: Date | None, end: Date | None
) -> IntervalFault:
    return IntervalFault(kind=kind, key=key, start=start, end=end)
