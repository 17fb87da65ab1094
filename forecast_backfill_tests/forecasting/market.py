"""A small invented market: four regions, three groups, weekdays, promotions, holes on demand."""

from datetime import date, timedelta

import numpy as np
import pandas as pd

from forecast_backfill.core.partition import DateRange, Partition, partitions_of
from forecast_backfill.forecasting.panel import Panel, build_panel, complete_long

FIRST = date(2026, 8, 31)
REGIONS = ("R01", "R02", "R03", "R04")
GROUPS = ("BREAD", "MILK", "TOYS")
WEEKDAYS = np.array([0.7, 0.7, 0.8, 0.9, 1.2, 1.6, 1.1])


def window(days=90):
    return DateRange(start=FIRST, end=FIRST + timedelta(days=days))


def day(number):
    return FIRST + timedelta(days=int(number))


def draw_units(days=90, seed=1):
    """Units by region, group and day, Poisson around a level times a weekday."""
    random = np.random.default_rng(seed)
    level = np.outer([4.0, 2.0, 7.0, 1.0], [3.0, 2.0, 0.2])
    profile = WEEKDAYS[(FIRST.weekday() + np.arange(days)) % 7]
    return random.poisson(level[:, :, None] * profile)


def sales_of(units):
    """Only what was sold, as a warehouse would have it: no row for a zero."""
    rows = [
        (REGIONS[r], GROUPS[g], day(t), int(units[r, g, t])) for r, g, t in np.argwhere(units > 0)
    ]
    return pd.DataFrame(rows, columns=["region", "demand_group", "date", "units"])


def long_of(units, missing=()):
    """The long table; `missing` has (region, day number) pairs that did not land."""
    dates = window(units.shape[2])
    gone = {Partition(date=day(number), region=region) for region, number in missing}
    return complete_long(
        sales_of(units),
        window=dates,
        regions=REGIONS,
        groups=GROUPS,
        present=set(partitions_of(dates, REGIONS)) - gone,
    )


def promotions(weeks=16, seed=2):
    """Weekly counts for every region but R02, of which no promotions are known."""
    random = np.random.default_rng(seed)
    rows = [
        (region, group, FIRST + timedelta(weeks=week), *random.integers(0, 9, 2).tolist())
        for region in ("R01", "R03", "R04")
        for group in ("BREAD", "MILK")
        for week in range(weeks)
    ]
    return pd.DataFrame(rows, columns=["region", "demand_group", "week", "display", "mailer"])


HOLES = (("R01", 89), ("R01", 80), ("R03", 50), ("R03", 51), ("R04", 40))


def market(days=90, missing=HOLES, seed=1) -> Panel:
    """The panel of the market."""
    return build_panel(long_of(draw_units(days, seed), missing), promotions())
