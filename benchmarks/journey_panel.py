"""The Complete Journey as one panel of region × demand group × day, for measuring forecasts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date as Date
from datetime import timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from forecast_backfill.core.partition import DateRange, partitions_of
from forecast_backfill.forecasting.model import ModelKind, Plan, fit, forecast
from forecast_backfill.forecasting.panel import Floats, Panel, build_panel, complete_long
from forecast_backfill.landing.journey_data import FIRST_QUARTER_END, Journey, load_journey
from forecast_backfill.landing.journey_dates import choose_window
from forecast_backfill.landing.journey_products import assign_demand_groups
from forecast_backfill.landing.journey_promotions import read_weeks, week_monday, week_number
from forecast_backfill.landing.journey_regions import assign_regions

WINDOW = 90
HORIZON = 14
REGIONS = tuple(f"R{number:02d}" for number in range(1, 41))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JourneyPanel:
    """The whole history; `departments` sums groups to departments by a matrix of 0 and 1."""

    panel: Panel
    departments: Floats

    def by_department(self, units: Floats) -> Floats:
        """Units by region, group and day as units by region, department and day."""
        return np.einsum("dg,rgt->rdt", self.departments, units)

    def actual(self, origin: int) -> Floats:
        """What was sold by region, department and day in the horizon from `origin` on."""
        return self.by_department(self.panel.units[:, :, origin : origin + HORIZON])


def forecast_by(panel: Panel, plan: Plan) -> tuple[Floats, ModelKind]:
    """The forecast by region, group and horizon day, and the kind of the model."""
    model = fit(panel, plan)
    units = forecast(model, panel)["units"].to_numpy()
    return units.reshape(len(panel.regions), len(panel.groups), plan.horizon), model.kind


def load_panel(zone: ZoneInfo, as_of: Date | None) -> JourneyPanel:
    """The history with the landing's regions and groups, moved so that it ends on `as_of`."""
    journey = load_journey(zone)
    end = as_of if as_of is not None else journey.last_day
    shift = choose_window(
        first_day=journey.first_day, last_day=journey.last_day, as_of=end, days=1
    ).shift
    stores = assign_regions(journey.lines, journey.demand, REGIONS, {})
    early = journey.demand[journey.demand["day"] <= FIRST_QUARTER_END]
    group_of = assign_demand_groups(journey.products, early)
    groups = sorted(set(group_of[group_of != ""]))
    sales = _daily_sales(journey, stores, group_of, shift)
    window = DateRange(
        start=journey.first_day + shift, end=min(end, journey.last_day + shift) + timedelta(days=1)
    )
    long = complete_long(
        sales,
        window=window,
        regions=REGIONS,
        groups=groups,
        present=set(partitions_of(window, REGIONS)),
    )
    panel = build_panel(long, _weekly_promotions(journey, stores, group_of, shift))
    return JourneyPanel(panel=panel, departments=_departments(journey, group_of, panel.groups))


def _daily_sales(
    journey: Journey, stores: Mapping[int, str], group_of: pd.Series, shift: timedelta
) -> pd.DataFrame:
    demand = journey.demand
    keys = {
        "region": demand["store_id"].map(stores),
        "demand_group": demand["product_id"].map(group_of),
        "date": demand["day"] + shift,
    }
    units = demand["quantity"].groupby(list(keys.values())).sum().rename("units")
    return units.rename_axis(list(keys)).reset_index()


def _weekly_promotions(
    journey: Journey, stores: Mapping[int, str], group_of: pd.Series, shift: timedelta
) -> pd.DataFrame:
    """How many (store, product) are on display and in the mailer, by region, group and week."""
    weeks = range(week_number(journey.first_day), week_number(journey.last_day) + 1)
    parts = []
    for week, facts in read_weeks(journey.promotions, weeks):
        region = pd.Series(facts["store_id"].to_numpy()).map(stores)
        group = pd.Series(facts["product_id"].to_numpy()).map(group_of)
        flags = pd.DataFrame(
            {"display": facts["on_display"].to_numpy(), "mailer": facts["on_mailer"].to_numpy()}
        )
        counts = flags.groupby([region.rename("region"), group.rename("demand_group")]).sum()
        parts.append(counts.reset_index().assign(week=pd.Timestamp(week_monday(week) + shift)))
    return pd.concat(parts, ignore_index=True)


def _departments(journey: Journey, group_of: pd.Series, groups: tuple[str, ...]) -> Floats:
    """A group belongs to the department that sold most of it; ALL OTHER is one of its own."""
    demand = journey.demand
    keys = [
        demand["product_id"].map(group_of),
        demand["product_id"].map(journey.products["department"]),
    ]
    units = demand["quantity"].groupby(keys).sum()
    owner = {group: units[group].idxmax() for group in groups}
    owner = {group: group if group == "ALL OTHER" else name for group, name in owner.items()}
    names = sorted(set(owner.values()))
    return np.array([[float(owner[group] == name) for group in groups] for name in names])
