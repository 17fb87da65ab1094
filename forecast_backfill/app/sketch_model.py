"""A few series of a model, sold and forecast: what people look at first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date as Date
from datetime import timedelta

from forecast_backfill.core.partition import DateRange
from forecast_backfill.ports.night import NightPorts
from forecast_backfill.ports.night_values import TrainedModel

SHOWN_DAYS = 28
SHOWN_SERIES = 4
MILLI = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesSketch:
    """Units of a region's demand group by date; a date that is missing is in neither mapping."""

    region: str
    demand_group: str
    sold: Mapping[Date, float]
    forecast: Mapping[Date, float]


def sketch_model(model: TrainedModel, *, ports: NightPorts) -> tuple[SeriesSketch, ...]:
    """The series that sold most in the last weeks of the window, with what the model expects."""
    artefact = ports.models.artefact(model.date, model.version)
    if artefact is None:
        return ()
    end = model.date + timedelta(days=1)
    recent = ports.demand.read(DateRange(start=end - timedelta(days=SHOWN_DAYS), end=end))
    sold: Counter[tuple[str, str]] = Counter()
    for each in recent:
        for group, units in each.units.items():
            sold[each.partition.region, group] += units
    forecasts = ports.forecaster.forecast(artefact, model.version)
    return tuple(
        SeriesSketch(
            region=region,
            demand_group=group,
            sold={
                each.partition.date: float(each.units.get(group, 0))
                for each in recent
                if each.partition.region == region
            },
            forecast={
                row.target_date: row.milliunits / MILLI
                for row in forecasts.get(region, ())
                if row.demand_group == group and row.milliunits is not None
            },
        )
        for (region, group), _ in sold.most_common(SHOWN_SERIES)
    )
