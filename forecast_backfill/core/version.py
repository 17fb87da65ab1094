"""The version of a row: as of which export of the source, and who says so."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import total_ordering

from forecast_backfill.core.states import Workload


class Authority(IntEnum):
    """Who stands behind a row; the higher wins where both had the same export of the source."""

    BACKFILL = 10
    LIVE = 20
    CORRECTION = 30


class Winner(StrEnum):
    """Whose rows stay where an overlapping campaign and nightly had the same source."""

    LIVE = "live"
    CORRECTION = "correction"


@total_ordering
@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """Compared by `source_version`, then by authority, then by `revision`.

    `source_version` is the source's own export instant in microseconds since 1970 UTC, never a
    writer's clock. It comes first: a correction beats live rows of the same or an older export,
    and a live write of a newer export wins again. `revision` orders the statements that one
    authority makes of one export: the number of a campaign, or how often nightly restated it with
    other code; 0 outside of overlaps.
    """

    authority: Authority
    source_version: int
    revision: int = 0

    def __post_init__(self) -> None:
        if self.revision < 0:
            raise ValueError("revisions count from 0")

    @property
    def rank(self) -> tuple[int, int, int]:
        """What versions are compared by."""
        return self.source_version, int(self.authority), self.revision

    def __lt__(self, other: Version) -> bool:
        return self.rank < other.rank

    def is_same_statement(self, other: Version) -> bool:
        """Whether the same authority speaks of the same export, in whatever revision."""
        return self.rank[:2] == other.rank[:2]


def authority_of(workload: Workload, winner: Winner | None = None) -> Authority:
    """The authority with which a workload writes; `winner` is asked for by an overlap only.

    Raises ValueError where nightly asks for a winner: it writes as live, always.
    """
    match workload:
        case Workload.NIGHTLY:
            if winner is not None:
                raise ValueError("nightly writes as live and asks for no winner")
            return Authority.LIVE
        case Workload.BACKFILL:
            return Authority.CORRECTION if winner is Winner.CORRECTION else Authority.BACKFILL
