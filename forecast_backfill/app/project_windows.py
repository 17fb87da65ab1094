"""How the training windows over a range will be judged once a campaign over it is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date as Date
from datetime import timedelta

from forecast_backfill.app.plan_ports import PlanPorts
from forecast_backfill.core.completeness import Verdict, judge
from forecast_backfill.core.coverage import Cell, CellState
from forecast_backfill.core.partition import DateRange, Partition
from forecast_backfill.core.seal import RegionOutput, build_seal, cells_of
from forecast_backfill.core.states import PartitionStatus

PLANNED = "as the campaign will write it"


def project_windows(
    dates: DateRange,
    partitions: Sequence[Partition],
    landed: Mapping[Date, frozenset[str]],
    ports: PlanPorts,
) -> Mapping[Date, Verdict]:
    """The windows in use over the range and tonight's, as they will be once the campaign is done.

    What a campaign cannot tell beforehand is left as it is: a quarantined source stays one.
    """
    ends = {*ports.facts.windows_over(dates), ports.calendar.latest_date}
    windows = {day: ports.contract.window(day + timedelta(days=1)) for day in ends}
    over = {
        day: window
        for day, window in windows.items()
        if window.start < dates.end and dates.start < window.end
    }
    if not over:
        return {}
    span = DateRange(
        start=min(window.start for window in over.values()),
        end=max(window.end for window in over.values()),
    )
    cells = _cells(span, partitions, landed, ports)
    return {
        day: judge(
            ports.contract,
            forecast_from=day + timedelta(days=1),
            regions=ports.regions,
            cells=cells,
            opened=ports.opened,
        )
        for day in over
    }


def _cells(
    span: DateRange,
    partitions: Sequence[Partition],
    landed: Mapping[Date, frozenset[str]],
    ports: PlanPorts,
) -> dict[Partition, Cell]:
    outputs = ports.facts.outputs(span, ports.regions)
    by_day: dict[Date, dict[str, RegionOutput]] = {}
    for partition, output in outputs.items():
        by_day.setdefault(partition.date, {})[partition.region] = output
    seals = {
        day: build_seal(day, regions=ports.regions, outputs=by_day.get(day, {})) for day in span
    }
    planned = Cell(state=CellState.IN, version=PLANNED)
    will_be = {
        each: planned
        for each in partitions
        if each.region in landed[each.date] and not _is_quarantined(outputs.get(each))
    }
    cells = {**cells_of(seals), **will_be}
    # Tonight's date is built by nightly yet; the dates between range and tonight are as they are.
    tonight = ports.calendar.latest_date
    if tonight in span and tonight not in by_day:
        cells |= {Partition(date=tonight, region=each): planned for each in ports.regions}
    return cells


def _is_quarantined(output: RegionOutput | None) -> bool:
    return output is not None and output.status is PartitionStatus.QUARANTINED
