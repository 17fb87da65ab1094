"""The version of a row: who says so, and as of which export of the source."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from forecast_backfill.core.states import Workload


class Authority(IntEnum):
    """Who stands behind a row; the higher wins where two writers meet."""

    BACKFILL = 10
    LIVE = 20
    CORRECTION = 30


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Version:
    """Compared by authority first, then by `source_version` (microseconds since 1970 UTC)."""

    authority: Authority
    source_version: int


def authority_of(workload: Workload) -> Authority:
    """The authority with which a workload writes unless a campaign asks for a correction."""
    match workload:
        case Workload.NIGHTLY:
            return Authority.LIVE
        case Workload.BACKFILL:
            return Authority.BACKFILL
