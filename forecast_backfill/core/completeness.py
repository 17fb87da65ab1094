"""The completeness contract: how much of a training window may be left out before a fit is refused.

An overall fraction alone hides a region that is gone, so a window is judged as a whole, by region,
by date and at its end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date as Date
from datetime import timedelta
from enum import IntEnum
from fractions import Fraction
from typing import assert_never

from forecast_backfill.core.coverage import NOTHING, Cell, CellState, Coverage, cover
from forecast_backfill.core.partition import DateRange, Partition


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletenessContract:
    """The limits of a window of `window_days` that ends the day before the first forecast.

    Up to `max_missing_fraction` of the partitions may be missing; up to `max_degraded_fraction` the
    forecasts are marked degraded; up to `max_override_fraction` a named person must override.
    Of the last `recent_days` at most `max_missing_per_region` may be missing in any region, and on
    any date at most `max_missing_per_date` regions (None: no limit of its own). The last
    `must_have_last_days` dates must each hold that limit, and where there is none hold anything at
    all; no override lifts this. A stale partition counts as missing unless `accepts_stale`.
    """

    window_days: int = 90
    max_missing_fraction: Fraction = Fraction(2, 100)
    max_degraded_fraction: Fraction = Fraction(5, 100)
    max_override_fraction: Fraction = Fraction(10, 100)
    recent_days: int = 28
    max_missing_per_region: int = 7
    max_missing_per_date: int | None = None
    must_have_last_days: int = 1
    accepts_stale: bool = False

    def __post_init__(self) -> None:
        limits = (self.max_missing_fraction, self.max_degraded_fraction, self.max_override_fraction)
        if not 0 <= limits[0] <= limits[1] <= limits[2] < 1:
            raise ValueError(f"the fractions {', '.join(map(str, limits))} do not rise from 0 to 1")
        if not 1 <= self.recent_days <= self.window_days:
            raise ValueError(f"{self.recent_days} recent days of a window of {self.window_days}")
        if not 0 <= self.must_have_last_days <= self.window_days:
            raise ValueError(f"{self.must_have_last_days} last days of {self.window_days}")
        if not 0 <= self.max_missing_per_region < self.recent_days:
            raise ValueError(f"{self.max_missing_per_region} of {self.recent_days} days missing")
        if self.max_missing_per_date is not None and self.max_missing_per_date < 0:
            raise ValueError(f"at most {self.max_missing_per_date} regions missing on a date")

    def window(self, forecast_from: Date) -> DateRange:
        """The dates that a forecast from `forecast_from` on is trained on."""
        return DateRange(start=forecast_from - timedelta(days=self.window_days), end=forecast_from)

    def counts(self, cell: Cell) -> bool:
        """Whether the partition may be trained on."""
        match cell.state:
            case CellState.IN:
                return True
            case CellState.STALE:
                return self.accepts_stale
            case CellState.QUARANTINED | CellState.MISSING:
                return False
            case _:
                assert_never(cell.state)


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """A named person takes a window that the contract would not, for a reason."""

    by: str
    reason: str

    def __post_init__(self) -> None:
        if not self.by.strip() or not self.reason.strip():
            raise ValueError("an override names a person and a reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The window holds the contract; what it leaves out is in `coverage`."""

    coverage: Coverage


@dataclass(frozen=True, slots=True, kw_only=True)
class Degraded:
    """The forecasts are published and marked so; `override` says who took it, if anybody."""

    coverage: Coverage
    reasons: tuple[str, ...]
    override: Override | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedsOverride:
    """No fit starts until a named person takes the window as it is."""

    coverage: Coverage
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """No fit starts, and no override helps: only data does."""

    coverage: Coverage
    reasons: tuple[str, ...]


Verdict = Accepted | Degraded | NeedsOverride | Refused


class _Severity(IntEnum):
    DEGRADES = 1
    NEEDS_OVERRIDE = 2
    REFUSES = 3


_Breach = tuple[_Severity, str]


def judge(
    contract: CompletenessContract,
    *,
    forecast_from: Date,
    regions: Sequence[str],
    cells: Mapping[Partition, Cell],
    opened: Mapping[str, Date] = NOTHING,
    override: Override | None = None,
) -> Verdict:
    """Judge the window before `forecast_from`; a partition that `cells` lacks is missing.

    Cells outside the window or of other regions do not count, and nothing is expected of a region
    before the date in `opened`. Raises ValueError where nothing at all is expected.
    """
    coverage = cover(
        window=contract.window(forecast_from),
        regions=regions,
        opened=opened,
        cells=cells,
        counts=contract.counts,
    )
    breaches = [
        *_judge_fraction(contract, coverage),
        *_judge_regions(contract, coverage),
        *_judge_dates(contract, coverage),
    ]
    worst = max((severity for severity, _ in breaches), default=None)
    reasons = tuple(reason for _, reason in breaches)
    match worst:
        case None:
            return Accepted(coverage=coverage)
        case _Severity.DEGRADES:
            return Degraded(coverage=coverage, reasons=reasons)
        case _Severity.NEEDS_OVERRIDE if override is not None:
            return Degraded(coverage=coverage, reasons=reasons, override=override)
        case _Severity.NEEDS_OVERRIDE:
            return NeedsOverride(coverage=coverage, reasons=reasons)
        case _Severity.REFUSES:
            return Refused(coverage=coverage, reasons=reasons)
        case _:
            assert_never(worst)


def _judge_fraction(contract: CompletenessContract, coverage: Coverage) -> list[_Breach]:
    fraction = coverage.missing_fraction
    if fraction <= contract.max_missing_fraction:
        return []
    if fraction <= contract.max_degraded_fraction:
        severity, limit = _Severity.DEGRADES, contract.max_missing_fraction
    elif fraction <= contract.max_override_fraction:
        severity, limit = _Severity.NEEDS_OVERRIDE, contract.max_degraded_fraction
    else:
        severity, limit = _Severity.REFUSES, contract.max_override_fraction
    missing = f"{len(coverage.left_out)} of {coverage.expected} partitions are missing"
    return [(severity, f"{missing} ({float(fraction):.2%}), more than {float(limit):.2%}")]


def _judge_regions(contract: CompletenessContract, coverage: Coverage) -> list[_Breach]:
    since = coverage.window.end - timedelta(days=contract.recent_days)
    recent = Counter(
        each.partition.region for each in coverage.left_out if each.partition.date >= since
    )
    return [
        (
            _Severity.REFUSES,
            f"region {region} misses {recent[region]} of the last {contract.recent_days} days, "
            f"more than {contract.max_missing_per_region}",
        )
        for region in coverage.regions
        if recent[region] > contract.max_missing_per_region
    ]


def _judge_dates(contract: CompletenessContract, coverage: Coverage) -> list[_Breach]:
    limit = contract.max_missing_per_date
    must_have_since = coverage.window.end - timedelta(days=contract.must_have_last_days)
    breaches: list[_Breach] = []
    for day, missing in coverage.missing_by_date.items():
        everywhere = coverage.expected_by_date[day]
        is_last = day >= must_have_since
        if limit is not None and missing > limit:
            severity = _Severity.REFUSES if is_last else _Severity.NEEDS_OVERRIDE
            reason = f"{day} is missing in {missing} of {everywhere} regions, more than {limit}"
            breaches.append((severity, reason))
        elif is_last and missing == everywhere:
            breaches.append((_Severity.REFUSES, f"{day} is missing in all {everywhere} regions"))
    return breaches
