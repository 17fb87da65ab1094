"""The publication of a night: which forecasts readers see, and whether they are the fresh ones."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date as Date
from enum import StrEnum


class PublicationStatus(StrEnum):
    """How good what readers see is.

    Fresh: every region from this night's accepted window. Degraded: this night's forecasts, with
    something left out. Kept: nothing of this night could be published, the last one's stay.
    """

    FRESH = "fresh"
    DEGRADED = "degraded"
    KEPT = "kept"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class PublishedRegion:
    """A region's forecasts as published: those made on `source_date`, by their version."""

    region: str
    source_date: Date
    forecast_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """What readers of `date` see from one switch on, in the order of regions.

    `reasons` say why it is not fresh; `absent` are regions that have no forecast at all.
    """

    date: Date
    status: PublicationStatus
    model_version: str | None
    regions: tuple[PublishedRegion, ...]
    reasons: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.status is PublicationStatus.FRESH) != (not self.reasons):
            raise ValueError(f"a publication that is {self.status} for {self.reasons}")
        is_kept = self.status is PublicationStatus.KEPT
        if is_kept and any(each.source_date >= self.date for each in self.regions):
            raise ValueError("a kept publication shows an earlier night's forecasts only")

    @property
    def data_version(self) -> str:
        """A digest of what readers see and how it is marked."""
        lines = [
            f"{each.region}:{each.source_date}:{each.forecast_version}" for each in self.regions
        ]
        text = "\n".join([self.date.isoformat(), self.status, *lines, *self.reasons])
        return hashlib.sha256(text.encode()).hexdigest()[:20]


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingToPublish:
    """There is no forecast of this night, nor of any earlier one."""

    date: Date
    reason: str


def plan_publication(
    day: Date,
    *,
    regions: Sequence[str],
    model_version: str | None,
    fresh: Mapping[str, str],
    previous: Mapping[str, PublishedRegion],
    degraded_for: Sequence[str],
    refused_for: Sequence[str],
) -> Publication | NothingToPublish:
    """Decide what readers of `day` see.

    `fresh` has the version of each region's forecasts by this night's model; `previous` what is
    published for `day` itself already, else what the last publication before it shows. A region
    without fresh forecasts keeps its previous ones, and where this night was refused all do.
    """
    usable = {} if refused_for else {each: fresh[each] for each in regions if each in fresh}
    kept = {each: previous[each] for each in regions if each not in usable and each in previous}
    absent = tuple(sorted(each for each in regions if each not in usable and each not in kept))
    shown = (
        *(
            PublishedRegion(region=region, source_date=day, forecast_version=version)
            for region, version in usable.items()
        ),
        *kept.values(),
    )
    reasons = (*refused_for, *degraded_for, *_lacking(kept, absent))
    if not shown:
        why = "; ".join(refused_for) or "no region has a forecast"
        return NothingToPublish(date=day, reason=f"{why}; and no earlier night was published")
    is_kept = all(each.source_date < day for each in shown)
    if is_kept:
        status = PublicationStatus.KEPT
        reasons = tuple(refused_for) or ("no region has a forecast of this night",)
    else:
        status = PublicationStatus.DEGRADED if reasons else PublicationStatus.FRESH
    return Publication(
        date=day,
        status=status,
        model_version=None if is_kept else model_version,
        regions=tuple(sorted(shown)),
        reasons=reasons,
        absent=absent,
    )


def _lacking(kept: Mapping[str, PublishedRegion], absent: Sequence[str]) -> list[str]:
    told: list[str] = []
    for region in sorted(kept):
        told.append(f"region {region} keeps its forecast of {kept[region].source_date}")
    return [*told, *(f"region {region} has no forecast" for region in absent)]
