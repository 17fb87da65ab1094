"""What the nights need next: one night after the other, the oldest that is not over first."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date as Date
from datetime import datetime, timedelta

from forecast_backfill.core.calendar import CATCH_UP_NIGHTS, Calendar
from forecast_backfill.core.night_state import (
    DateState,
    Freshness,
    Launch,
    NightHours,
    PastLaunches,
    Plan,
    Stage,
)
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class NightSituation:
    """All that a plan of the nights is made from.

    `landed` has the regions by date whose delivery is complete. `grace` is how long the sensor
    leaves the start of a night to the schedule. `is_first` tells that no night was published yet,
    and `history_pending` why history is not complete yet, None where nothing is under way.
    """

    now: datetime
    hours: NightHours
    calendar: Calendar
    regions: Sequence[str]
    states: Mapping[Date, DateState]
    landed: Mapping[Date, frozenset[str]]
    launches: PastLaunches
    is_first: bool
    history_pending: str | None = None
    grace: timedelta = timedelta()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Over:
    """The night needs nothing more; the next one may begin."""

    reason: str


def nights_of(calendar: Calendar, states: Mapping[Date, DateState]) -> tuple[Date, ...]:
    """The dates of the last nights, oldest first: nightly's own, and those that it has sealed."""
    since = calendar.latest_date - timedelta(days=CATCH_UP_NIGHTS)
    return tuple(
        day
        for day in calendar.dates
        if day >= since and (day >= calendar.seam or _state(states, day).is_night)
    )


def plan_night(situation: NightSituation) -> Plan:
    """What to launch for the oldest night that is not over.

    A later night begins only then, so that after an outage nights are run in their order. A night
    whose runs end badly several times is given up, and the next one is not kept from running.
    """
    reasons: list[str] = []
    for day in nights_of(situation.calendar, situation.states):
        step = _next_step(day, situation)
        if isinstance(step, Plan):
            return Plan(launches=step.launches, reasons=(*reasons, *step.reasons))
        reasons.append(f"{day}: {step.reason}")
    return Plan(reasons=tuple(reasons))


def _next_step(day: Date, situation: NightSituation) -> Plan | _Over:
    state = _state(situation.states, day)
    begins_at = situation.hours.begins_at(day)
    if not state.is_night and situation.now < begins_at + situation.grace:
        return _wait(day, f"its night begins at {begins_at:%Y-%m-%d %H:%M %Z}")
    if day >= situation.calendar.seam:
        launches = _region_launches(day, state, situation)
        if launches:
            return Plan(launches=launches)
        if situation.launches.has_active(Stage.REGIONS, Workload.NIGHTLY, day):
            return _wait(day, "its regions are being built")
    if state.is_closed:
        return _Over(reason="published" if state.has_own_forecast else "its window was refused")
    if not state.is_night:
        waiting = _reason_to_wait(day, state, situation)
        if waiting is not None:
            return waiting
    return _fit_or_forecast(day, state, situation)


def _region_launches(day: Date, state: DateState, situation: NightSituation) -> tuple[Launch, ...]:
    """One run for neighbouring regions that are landed and not decided: one for all, as a rule."""
    landed = situation.landed.get(day, frozenset())
    wanted = [each for each in situation.regions if each in landed and each not in state.decided]
    launches = [
        Launch(
            stage=Stage.REGIONS,
            workload=Workload.NIGHTLY,
            first=Partition(date=day, region=span[0]),
            last=Partition(date=day, region=span[-1]),
            cause=f"{len(span)} landed",
        )
        for span in spans_of(wanted, situation.regions)
    ]
    if situation.launches.has_active(Stage.REGIONS, Workload.NIGHTLY, day):
        # What is under way may be just these; what is left of them is launched after it.
        return ()
    return tuple(each for each in launches if situation.launches.is_allowed(each))


def _reason_to_wait(day: Date, state: DateState, situation: NightSituation) -> Plan | _Over | None:
    missing = [each for each in situation.regions if each not in state.decided]
    cut_off_at = situation.hours.cut_off_at(day)
    if missing and situation.now < cut_off_at:
        names = ", ".join(missing[:5]) + (" …" if len(missing) > 5 else "")
        return _wait(day, f"waits for {names} until {cut_off_at:%H:%M %Z}")
    nothing_came = not state.decided and not situation.landed.get(day)
    if nothing_came and situation.is_first:
        return _Over(reason="nothing was landed, and no night was published before")
    if situation.is_first and situation.history_pending is not None:
        return _wait(day, f"the first night waits for its history: {situation.history_pending}")
    return None


def _fit_or_forecast(day: Date, state: DateState, situation: NightSituation) -> Plan | _Over:
    regions = situation.regions
    is_fitted = state.model is not None and state.is_model_of_window
    if state.is_night and state.window is not Freshness.ABSENT and is_fitted:
        launch = Launch(
            stage=Stage.FORECAST,
            workload=Workload.NIGHTLY,
            first=Partition(date=day, region=regions[0]),
            last=Partition(date=day, region=regions[-1]),
            cause=f"model {state.model}",
        )
    else:
        whole = Partition(date=day, region=regions[0]), Partition(date=day, region=regions[-1])
        launch = Launch(
            stage=Stage.NIGHT,
            workload=Workload.NIGHTLY,
            first=whole[0],
            last=whole[1],
            cause=f"content {state.content}",
        )
    if situation.launches.is_allowed(launch):
        return Plan(launches=(launch,))
    if situation.launches.is_active(launch):
        return _wait(day, f"its {launch.stage} run is under way")
    return _Over(reason=f"its {launch.stage} run did not come to a good end; it is left to people")


def spans_of(wanted: Sequence[str], known: Sequence[str]) -> list[list[str]]:
    """The wanted names in runs of neighbours among the known ones."""
    spans: list[list[str]] = []
    before = False
    for name in known:
        is_wanted = name in wanted
        if is_wanted and before:
            spans[-1].append(name)
        elif is_wanted:
            spans.append([name])
        before = is_wanted
    return spans


def digest_of(parts: Sequence[str]) -> str:
    """A short name of several contents together."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _state(states: Mapping[Date, DateState], day: Date) -> DateState:
    return states.get(day) or DateState(date=day)


def _wait(day: Date, reason: str) -> Plan:
    return Plan(reasons=(f"{day}: {reason}",))
