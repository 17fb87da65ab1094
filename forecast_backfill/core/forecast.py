"""Forecasts of one (date, region): their rows, fingerprint and whether they are complete."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date as Date
from datetime import timedelta

from forecast_backfill.core.fingerprint import row_hash
from forecast_backfill.core.partition import DateRange, Partition

FIRST_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class ForecastRow:
    """Thousandths of a unit forecast for one demand group of the partition's region on a date.

    `milliunits` is None where the model's number was not finite.
    """

    demand_group: str
    target_date: Date
    milliunits: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastFingerprint:
    """Row count, order-independent checksum and sum of a forecast partition."""

    rows: int
    checksum: int
    milliunits: int

    @property
    def data_version(self) -> str:
        """A digest of the content: the same forecasts have the same version."""
        text = f"{self.rows}:{self.checksum}:{self.milliunits}"
        return hashlib.sha256(text.encode()).hexdigest()[:20]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastComplete:
    """Every active series has every horizon day exactly once, and no value is negative."""

    fingerprint: ForecastFingerprint


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastIncomplete:
    """What is wrong with the forecasts, one line each; nothing is written."""

    reasons: tuple[str, ...]


def horizon_of(day: Date, days: int) -> DateRange:
    """The dates that the forecast of `day` covers: the `days` after it."""
    return DateRange(start=day + timedelta(days=1), end=day + timedelta(days=days + 1))


def judge_forecast(
    partition: Partition, *, rows: Sequence[ForecastRow], groups: Sequence[str], horizon_days: int
) -> ForecastComplete | ForecastIncomplete:
    """Whether `rows` hold each of `groups` on each horizon day exactly once, with a good value."""
    found = Counter((row.demand_group, row.target_date) for row in rows)
    wanted = {(group, day) for group in groups for day in horizon_of(partition.date, horizon_days)}
    not_finite = [_name(row) for row in rows if row.milliunits is None]
    negative = [_name(row) for row in rows if row.milliunits is not None and row.milliunits < 0]
    breaches = (
        ("are missing", _names(wanted - found.keys())),
        ("are there more than once", _names(key for key, count in found.items() if count > 1)),
        ("were not asked for", _names(found.keys() - wanted)),
        ("are not finite", not_finite),
        ("are negative", negative),
    )
    reasons = tuple(_sentence(names, what) for what, names in breaches if names)
    if not wanted:
        reasons = (*reasons, "there is no active series")
    if reasons:
        return ForecastIncomplete(reasons=reasons)
    return ForecastComplete(fingerprint=fingerprint_of(partition, rows))


def fingerprint_of(partition: Partition, rows: Iterable[ForecastRow]) -> ForecastFingerprint:
    """The fingerprint of complete forecasts."""
    count = checksum = total = 0
    key = (partition.date.isoformat(), partition.region)
    for row in rows:
        count += 1
        total += row.milliunits or 0
        values = (*key, row.demand_group, row.target_date.isoformat(), row.milliunits)
        checksum += row_hash(values)
    return ForecastFingerprint(rows=count, checksum=checksum, milliunits=total)


def _name(row: ForecastRow) -> str:
    return f"{row.demand_group} on {row.target_date}"


def _names(keys: Iterable[tuple[str, Date]]) -> list[str]:
    return [f"{group} on {day}" for group, day in sorted(keys)]


def _sentence(names: Sequence[str], what: str) -> str:
    shown = ", ".join(names[:FIRST_SHOWN])
    more = f" and {len(names) - FIRST_SHOWN} more" if len(names) > FIRST_SHOWN else ""
    return f"{len(names)} forecasts {what}: {shown}{more}"
