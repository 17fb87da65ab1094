"""The canary: how long production's readers wait for one partition, 99 times of 100."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from forecast_backfill.core.signal import CANARY_READ, Look, Measured, Thresholds
from forecast_backfill.warehouse.signals.link import Link
from forecast_backfill.warehouse.statements import statements

READS = 5
FEWEST_KEPT, MOST_KEPT = 20, 100
KEPT_SECONDS = 60.0
BUDGET_SECONDS = 0.5


class CanaryRead:
    """The 99th percentile of the last hundred reads of the latest partition, of a minute at most.

    A round reads a few times, the first one more often, and stops early where reads are slow.
    """

    name = CANARY_READ

    def __init__(self, primary: Link, thresholds: Thresholds) -> None:
        self._primary = primary
        self.thresholds = thresholds

    def look(self, notes: Mapping[str, object]) -> Look:
        """Read, and judge with the reads of the last looks."""
        seconds, now = self._read()
        kept = [each for each in _pairs(notes.get("reads")) if abs(now - each[0]) <= KEPT_SECONDS]
        fresh = [(now, seconds)]
        while len(fresh) < max(READS, FEWEST_KEPT - len(kept)):
            if sum(each for _, each in fresh) >= BUDGET_SECONDS:
                break
            seconds, now = self._read()
            fresh.append((now, seconds))
        kept += fresh
        kept = kept[-MOST_KEPT:]
        reads = [[round(at, 3), round(each, 6)] for at, each in kept]
        value = percentile([each for _, each in kept], 0.99)
        return Look(reading=Measured(value=value), notes={"reads": reads})

    def _read(self) -> tuple[float, float]:
        connection = self._primary.connection()
        started = time.perf_counter()
        row = statements().canary_read(connection)
        return time.perf_counter() - started, float(row["at"])


def percentile(values: Iterable[float], part: float) -> float:
    """The smallest value that `part` of all values do not exceed; one value alone never counts.

    Of fewer than a hundred the 99th percentile would be the worst, which is often a hiccup.
    """
    ordered = sorted(values)
    rank = min(math.ceil(part * len(ordered)), len(ordered) - 1)
    return ordered[max(0, rank - 1)]


def _pairs(stored: object) -> Sequence[tuple[float, float]]:
    if not isinstance(stored, list):
        return ()
    pairs = cast("list[tuple[float, float]]", stored)
    return [(float(at), float(seconds)) for at, seconds in pairs]
