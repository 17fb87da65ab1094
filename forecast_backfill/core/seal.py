"""The seal of a date: which regions are in, at which version, and which are not and why."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date as Date
from datetime import timedelta
from typing import assert_never

from forecast_backfill.core.coverage import Cell, CellState
from forecast_backfill.core.partition import DateRange, Partition
from forecast_backfill.core.states import OutputState, PartitionStatus

NEVER_ATTEMPTED = "no source was landed or tried"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionOutput:
    """A partition as the ledger has it; `version` names the readable output, None without one."""

    status: PartitionStatus
    output: OutputState
    version: str | None
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedRegion:
    """One region of a sealed date."""

    region: str
    cell: Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal:
    """What a date holds, region by region in the order of their names."""

    date: Date
    regions: tuple[SealedRegion, ...]

    def __post_init__(self) -> None:
        names = [each.region for each in self.regions]
        if names != sorted(set(names)) or not names:
            raise ValueError(f"the seal of {self.date} names no region, one twice, or out of order")

    @property
    def data_version(self) -> str:
        """A digest of the date, and of every region's state and version.

        The words of a reason do not count: the same content sealed again has the same version.
        """
        lines = [f"{each.region}={each.cell.state}:{each.cell.version}" for each in self.regions]
        text = "\n".join([self.date.isoformat(), *lines])
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    def changed_regions(self, earlier: Seal | None) -> tuple[str, ...]:
        """The regions whose state or version is another than in the earlier seal."""
        before = {} if earlier is None else {each.region: each.cell for each in earlier.regions}
        now = {each.region: each.cell for each in self.regions}
        return tuple(
            region
            for region in sorted({*before, *now})
            if _content(before.get(region)) != _content(now.get(region))
        )


def build_seal(day: Date, *, regions: Sequence[str], outputs: Mapping[str, RegionOutput]) -> Seal:
    """Seal `day` from what the ledger has of its regions; one that it lacks is missing."""
    return Seal(
        date=day,
        regions=tuple(
            SealedRegion(region=region, cell=_cell(outputs.get(region)))
            for region in sorted(regions)
        ),
    )


def cells_of(seals: Mapping[Date, Seal]) -> dict[Partition, Cell]:
    """Every sealed partition with what its seal says."""
    return {
        Partition(date=day, region=each.region): each.cell
        for day, seal in seals.items()
        for each in seal.regions
    }


def digest_seals(window: DateRange, versions: Mapping[Date, str]) -> str:
    """A digest of a window's seals by their versions; a date without a seal counts as such."""
    lines = [f"{day.isoformat()}={versions.get(day, '-')}" for day in window]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:20]


def window_ending(day: Date, days: int) -> DateRange:
    """The trailing `days` dates of which `day` is the last."""
    return DateRange(start=day - timedelta(days=days - 1), end=day + timedelta(days=1))


def _content(cell: Cell | None) -> tuple[CellState, str | None] | None:
    return None if cell is None else (cell.state, cell.version)


def _cell(output: RegionOutput | None) -> Cell:
    if output is None:
        return Cell(state=CellState.MISSING, reason=NEVER_ATTEMPTED)
    match output.output:
        case OutputState.CURRENT:
            return Cell(state=CellState.IN, version=output.version)
        case OutputState.STALE:
            reason = f"the readable output is older than its source: {_why(output)}"
            return Cell(state=CellState.STALE, version=output.version, reason=reason)
        case OutputState.ABSENT:
            is_quarantined = output.status is PartitionStatus.QUARANTINED
            state = CellState.QUARANTINED if is_quarantined else CellState.MISSING
            return Cell(state=state, reason=_why(output))
        case _:
            assert_never(output.output)


def _why(output: RegionOutput) -> str:
    if output.reason is not None:
        return f"{output.status}: {output.reason}"
    return f"an attempt is {output.status}"
