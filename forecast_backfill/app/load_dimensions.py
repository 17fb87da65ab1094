"""Loads landed dimensions, each judged, replaced, reconciled and recorded in one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date as Date
from datetime import timedelta
from enum import StrEnum

from forecast_backfill.core.dimension import (
    DimensionFingerprint,
    DimensionName,
    Row,
    find_late_record,
    fingerprint_rows,
    judge_rows,
)
from forecast_backfill.core.errors import DimensionRefused, LandingIncomplete
from forecast_backfill.core.intervals import Incoherent
from forecast_backfill.core.partition import DateRange
from forecast_backfill.ports.dimension import DimensionPorts, LandedDimension

WEEK = timedelta(weeks=1)
_NEEDED = (DimensionName.PRODUCT, DimensionName.STORE_REGION)


class LoadOutcome(StrEnum):
    """What became of a landed dimension."""

    LOADED = "loaded"
    UNCHANGED = "unchanged"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True, kw_only=True)
class DimensionLoad:
    """One dimension, or one week of promotions, and what became of it."""

    name: DimensionName
    part: str
    outcome: LoadOutcome
    rows: int
    replaced: int


def load_dimensions(
    dates: DateRange, *, regions: Sequence[str], ports: DimensionPorts
) -> tuple[DimensionLoad, ...]:
    """Load all dimensions, and the promotions of every week that touches `dates`.

    Content that is stored already is left alone. Raises LandingIncomplete where products or
    stores are not landed, and DimensionRefused, with key and dates, where versions overlap or leave
    a gap, or where other rows were stored than read; what was stored before then stays.
    """
    return tuple(_load_all(dates, regions, ports))


def _load_all(
    dates: DateRange, regions: Sequence[str], ports: DimensionPorts
) -> Iterator[DimensionLoad]:
    for name in (DimensionName.PRODUCT, DimensionName.STORE_REGION, DimensionName.SHELF_PRICE):
        landed = ports.landed.find(name)
        if landed is None and name in _NEEDED:
            raise LandingIncomplete(
                f"the dimension {name} is not landed",
                why="every partition needs it",
                next_command="forecast-backfill landing --days 91",
            )
        yield _absent(name, "") if landed is None else _load(landed, ports)
    for week in _weeks(dates):
        landed = ports.landed.find_promotions(week, regions)
        if landed is None:
            yield _absent(DimensionName.PROMOTION, week.isoformat())
        else:
            yield _load(landed, ports)


def _weeks(dates: DateRange) -> Iterator[Date]:
    week = dates.start - timedelta(days=dates.start.weekday())
    while week < dates.end:
        yield week
        week += WEEK


def _absent(name: DimensionName, part: str) -> DimensionLoad:
    return DimensionLoad(name=name, part=part, outcome=LoadOutcome.ABSENT, rows=0, replaced=0)


def _load(landed: LandedDimension, ports: DimensionPorts) -> DimensionLoad:
    with ports.store.transaction(landed.name, landed.part) as transaction:
        outcome, rows, replaced = LoadOutcome.UNCHANGED, 0, 0
        if transaction.loaded_digest() != landed.digest:
            content = landed.read()
            _refuse_contradictions(landed.name, content)
            outcome, rows = LoadOutcome.LOADED, len(content)
            replaced = transaction.replace(content)
            read, stored = fingerprint_rows(content), transaction.fingerprint()
            _refuse_difference(landed, read, stored)
            transaction.record(landed.digest, stored)
    return DimensionLoad(
        name=landed.name, part=landed.part, outcome=outcome, rows=rows, replaced=replaced
    )


def _refuse_contradictions(name: DimensionName, rows: Sequence[Row]) -> None:
    verdict = judge_rows(name, rows)
    why = verdict.reason if isinstance(verdict, Incoherent) else find_late_record(name, rows)
    if why is not None:
        raise DimensionRefused(
            f"the dimension {name} was refused",
            why=why,
            next_command=f"correct the landed file of {name}, then try again",
        )


def _refuse_difference(
    landed: LandedDimension, read: DimensionFingerprint, stored: DimensionFingerprint
) -> None:
    if read != stored:
        raise DimensionRefused(
            f"the dimension {landed.name} {landed.part}".rstrip()
            + " was not stored as it was read",
            why=f"read {read.rows} rows with checksum {read.checksum}, "
            f"stored {stored.rows} with {stored.checksum}",
            next_command="forecast-backfill diagnose",
        )
