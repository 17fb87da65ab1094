"""Measure the forecasts of a (date, region) once actuals are in, against the seasonal naive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date as Date

from forecast_backfill.core.forecast import horizon_of
from forecast_backfill.core.partition import DateRange, Partition
from forecast_backfill.core.seal import window_ending
from forecast_backfill.ports import RunRequest
from forecast_backfill.ports.night import NightPorts
from forecast_backfill.ports.night_values import Accuracy, NotMeasured, WindowUnits


def measure_accuracy(
    partition: Partition, *, request: RunRequest, ports: NightPorts
) -> Accuracy | NotMeasured:
    """Score the horizon days that are in by now; measured again, later days and corrections count.

    A day without a current output is unknown and does not count, never as zero. The yardstick comes
    from the history up to the forecast's date.
    """
    return ports.retry(lambda: _attempt(partition, request, ports))


def _attempt(
    partition: Partition, request: RunRequest, ports: NightPorts
) -> Accuracy | NotMeasured:
    found = ports.forecasts.latest(partition)
    if found is None:
        return NotMeasured(partition=partition, reason="there is no forecast to measure")
    version, rows = found
    history_window = window_ending(partition.date, ports.contract.window_days)
    horizon = horizon_of(partition.date, ports.horizon_days)
    window = DateRange(start=history_window.start, end=horizon.end)
    known = _by_date(ports.demand.read_current(window, partition.region))
    actuals = {day: units for day, units in known.items() if day in horizon}
    if not actuals:
        return NotMeasured(partition=partition, reason="no day of the horizon is in yet")
    scores = ports.forecaster.score(
        forecasts=rows,
        actuals=actuals,
        history={day: units for day, units in known.items() if day in history_window},
    )
    accuracy = Accuracy(
        partition=partition,
        forecast_version=version,
        known_days=len(actuals),
        horizon_days=ports.horizon_days,
        scores=scores,
    )
    ports.accuracy.store(accuracy, request)
    return accuracy


def _by_date(units: Sequence[WindowUnits]) -> dict[Date, Mapping[str, int]]:
    return {each.partition.date: each.units for each in units}
