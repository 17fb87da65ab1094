"""The one form of the data that models see: units of region × demand group × day, null if missing.

A day of a region that did not land is null for every group. A landed day on which a group sold
nothing is a true zero. The two are told apart here, at the door, and never mixed again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date as Date
from datetime import timedelta

import numpy as np
import numpy.typing as npt
import pandas as pd

from forecast_backfill.core.errors import ForecastBackfillError
from forecast_backfill.core.partition import DateRange, Partition

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

KEY = ["region", "demand_group", "date"]
KNOWN_AHEAD_DAYS = 14
"""How far promotions are known ahead."""


class PanelRefused(ForecastBackfillError):
    """The long table has gaps, duplicates or values that no demand can have."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Panel:
    """Units by region, group and day, NaN where the day is missing; regions and groups sorted.

    `promotions` has, by region, group, day and kind (display, mailer), how many promotions are
    known; it reaches past the last day as far as they are known ahead, NaN where nothing is known.
    """

    regions: tuple[str, ...]
    groups: tuple[str, ...]
    first: Date
    units: Floats
    promotions: Floats

    @property
    def days(self) -> int:
        """How many days the panel has."""
        return self.units.shape[2]

    @property
    def end(self) -> Date:
        """The first date after the panel: the first that it can forecast."""
        return self.first + timedelta(days=self.days)

    def weekday(self, days: Ints) -> Ints:
        """The weekday (Monday is 0) of days counted from the panel's first."""
        return (self.first.weekday() + days) % 7

    def day_of_month(self, days: Ints) -> Ints:
        """The day of the month of days counted from the panel's first."""
        dates = np.datetime64(self.first, "D") + days
        return (dates - dates.astype("datetime64[M]")).astype(np.int64) + 1

    def evidence(self) -> Floats:
        """The units without the dates on which no region sold anything: closed says nothing."""
        seen = ~np.isnan(self.units)
        is_closed = seen.any(axis=(0, 1)) & (np.nansum(self.units, axis=(0, 1)) == 0)
        return np.where(is_closed, np.nan, self.units)

    def before(self, day: int) -> Panel:
        """The panel as it was when `day` was the first day not yet sold."""
        return self.between(0, day)

    def between(self, start: int, end: int) -> Panel:
        """The days from `start` on, before `end`; promotions as far ahead as were known then."""
        return replace(
            self,
            first=self.first + timedelta(days=start),
            units=self.units[:, :, start:end],
            promotions=self.promotions[:, :, start : end + KNOWN_AHEAD_DAYS],
        )

    def digest(self) -> str:
        """A digest of all that a model can see."""
        digest = hashlib.sha256(repr((self.regions, self.groups, self.first)).encode())
        for values in (self.units, self.promotions):
            digest.update(repr(values.shape).encode())
            canonical = np.where(np.isnan(values), np.nan, values + 0.0)
            digest.update(np.ascontiguousarray(canonical, dtype="<f8").tobytes())
        return digest.hexdigest()


def complete_long(
    sales: pd.DataFrame,
    *,
    window: DateRange,
    regions: Sequence[str],
    groups: Sequence[str],
    present: Collection[Partition],
) -> pd.DataFrame:
    """The long table of the window from `sales` (region, demand_group, date, units).

    Partitions in `present` get zeros where a group sold nothing, all others null: also those of
    which older rows are still readable. Sales outside the window do not count. Raises
    PanelRefused where `sales` has a key twice, a null, or an unknown region or group.
    """
    frame = sales.assign(date=pd.to_datetime(sales["date"]))
    for name, known in (("region", regions), ("demand_group", groups)):
        unknown = set(frame[name]) - set(known)
        if unknown:
            raise _refused(f"the {name} {min(unknown)!r} is unknown")
    if frame["units"].isna().any():
        raise _refused("sales without units")
    _refuse_duplicates(frame)
    index = pd.MultiIndex.from_product(
        [sorted(regions), sorted(groups), pd.to_datetime(list(window))], names=KEY
    )
    places = pd.MultiIndex.from_arrays(
        [
            [each.region for each in present],
            pd.DatetimeIndex([each.date for each in present]),
        ]
    )
    is_present = index.droplevel("demand_group").isin(places)
    units = frame.set_index(KEY)["units"].astype("Int64").reindex(index).fillna(0)
    return units.where(is_present, pd.NA).reset_index()


def build_panel(long: pd.DataFrame, promotions: pd.DataFrame | None = None) -> Panel:
    """The panel of a long table: every region × group × date exactly once, units null or ≥ 0.

    `promotions` (region, demand_group, week as its Monday, display, mailer) counts promotions; a
    week that it has for a region is known for all groups. Raises PanelRefused where the table has
    gaps, duplicates, negative units, or a (date, region) that is null for some groups only.
    """
    if long.empty:
        raise _refused("it has no rows")
    frame = long.assign(date=pd.to_datetime(long["date"])).sort_values(KEY, kind="stable")
    _refuse_duplicates(frame)
    regions, groups = sorted(set(frame["region"])), sorted(set(frame["demand_group"]))
    dates = pd.date_range(frame["date"].min(), frame["date"].max())
    shape = (len(regions), len(groups), len(dates))
    if len(frame) != np.prod(shape):
        raise _refused(f"{len(frame)} rows are not every region, group and date: {shape}")
    units = frame["units"].astype("Float64").to_numpy(np.float64, na_value=np.nan).reshape(shape)
    missing = np.isnan(units)
    if (missing.any(axis=1) != missing.all(axis=1)).any():
        raise _refused("a date of a region is null for some of its groups only")
    if (units < 0).any() or np.isinf(units).any():
        raise _refused("units are negative or infinite")
    first = dates[0].date()
    return Panel(
        regions=tuple(regions),
        groups=tuple(groups),
        first=first,
        units=units,
        promotions=_spread_weeks(promotions, regions, groups, first, len(dates)),
    )


def _spread_weeks(
    weekly: pd.DataFrame | None,
    regions: list[str],
    groups: list[str],
    first: Date,
    days: int,
) -> Floats:
    reach = days + KNOWN_AHEAD_DAYS
    values = np.full((len(regions), len(groups), reach, 2), np.nan)
    if weekly is None or weekly.empty:
        return values
    monday = first - timedelta(days=first.weekday())
    weeks = (pd.to_datetime(weekly["week"]) - pd.Timestamp(monday)).dt.days // 7
    rows = pd.Index(regions).get_indexer(weekly["region"])
    columns = pd.Index(groups).get_indexer(weekly["demand_group"])
    kept = (rows >= 0) & (columns >= 0) & (weeks >= 0) & (weeks <= (reach + 6) // 7)
    by_week = np.full((len(regions), len(groups), (reach + 6) // 7 + 1, 2), np.nan)
    rows, columns, at = rows[kept], columns[kept], weeks[kept].to_numpy()
    by_week[rows, :, at] = 0.0
    by_week[rows, columns, at] = weekly.loc[kept, ["display", "mailer"]].to_numpy(np.float64)
    return by_week[:, :, (first.weekday() + np.arange(reach)) // 7]


def _refuse_duplicates(frame: pd.DataFrame) -> None:
    doubled = frame.duplicated(KEY)
    if doubled.any():
        key = tuple(str(value) for value in frame.loc[doubled, KEY].iloc[0])
        raise _refused(f"the key {key} is there {doubled.sum() + 1} times or more")


def _refused(why: str) -> PanelRefused:
    return PanelRefused(
        "the training data is not a complete panel",
        why=why,
        next_command="forecast-backfill status",
    )
