"""Compares policies: what each costs nightly, and how long the campaign takes under it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from datetime import date as Date
from datetime import time as Time
from itertools import pairwise

from forecast_backfill.core.night_profile import NightProfile, profile_of
from forecast_backfill.core.night_state import NightHours
from forecast_backfill.core.peak import Usage
from forecast_backfill.simulation.engine import DAY, Machine
from forecast_backfill.simulation.policies import (
    Knowledge,
    Limit,
    Policy,
    changes_of,
    limit_of,
)
from forecast_backfill.simulation.replay import Trace, replay
from forecast_backfill.simulation.shapes import Campaign, Night


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What is simulated. Times are seconds since the launch.

    `nights` come in turn, one a day, the first at `first_night`; each is due `deadline` seconds
    after its begin. `fit` names the step whose start is looked at. `peak` None: what the nights
    hold when alone. After `days` days it is given up.
    """

    slots: int
    nights: tuple[Night, ...]
    first_night: float
    deadline: float
    fit: str
    campaign: Campaign
    peak: int | None = None
    headroom: int = 0
    lead: timedelta = timedelta(minutes=15)
    days: int = 30
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One policy over the scenario; seconds, and the worst night where there were several.

    `fit_delay` and `start_delay` are against nightly alone, for the fit and for any step.
    `nightly_end` is since the night's begin, `late_by` above 0 where it passed the deadline; all
    four are None where a night did not end. `cap` is the limit at the launch.
    """

    policy: Policy
    cap: int
    fit_delay: float | None
    start_delay: float | None
    nightly_end: float | None
    late_by: float | None
    campaign_seconds: float | None
    nights: int
    trace: Trace


def compare(scenario: Scenario, policies: Iterable[Policy] = tuple(Policy)) -> tuple[Result, ...]:
    """Simulate nightly alone, then each policy; the same scenario gives the same results."""
    alone = _alone(scenario)
    known = _knowledge(scenario, alone)
    return tuple(_result(policy, scenario, known, alone) for policy in policies)


def _alone(scenario: Scenario) -> Trace:
    machine = _machine(scenario, limit=_nothing, has_priority=True, campaign=None)
    number = len(scenario.nights)
    return replay(
        machine,
        scenario.nights,
        first_night=scenario.first_night,
        days=number + scenario.days,
        least=number,
    )


def _nothing(at: float, *, is_night_over: bool) -> int:
    return 0


def _knowledge(scenario: Scenario, alone: Trace) -> Knowledge:
    launched_at = datetime(2026, 1, 5, tzinfo=UTC)
    begin = launched_at + timedelta(seconds=scenario.first_night)
    measured = max((each.nightly for each in alone.samples), default=0)
    at_launch = max((each.nightly for each in alone.samples if each.at <= 0), default=0)
    return Knowledge(
        slots=scenario.slots,
        headroom=scenario.headroom,
        peak=measured if scenario.peak is None else scenario.peak,
        idle=scenario.slots - at_launch,
        profile=_profile(alone, launched_at),
        hours=NightHours(nightly_time=begin.time(), cut_off_time=Time(), zone=UTC),
        lead=scenario.lead,
        launched_at=launched_at,
        p95=scenario.campaign.p95,
    )


def _profile(alone: Trace, launched_at: datetime) -> NightProfile:
    """What the nights hold when alone, by the time since each began."""
    begins = {launched_at.date() + timedelta(days=n): n for n in range(len(alone.nights))}
    usages: dict[Date, list[Usage]] = {night: [] for night in begins}
    instants = {
        night: launched_at + timedelta(seconds=alone.nights[number].begin)
        for night, number in begins.items()
    }
    for now, later in pairwise(alone.samples):
        number = int((now.at - alone.nights[0].begin) // DAY)
        if now.nightly:
            usages[launched_at.date() + timedelta(days=number)].append(
                Usage(
                    shape="nightly",
                    start=launched_at + timedelta(seconds=now.at),
                    end=launched_at + timedelta(seconds=later.at),
                    slots=now.nightly,
                )
            )
    return profile_of(usages, instants)


def _result(policy: Policy, scenario: Scenario, known: Knowledge, alone: Trace) -> Result:
    limit = limit_of(policy, known)
    machine = _machine(
        scenario, limit=limit, has_priority=policy.has_priority, campaign=scenario.campaign
    )
    trace = replay(
        machine,
        scenario.nights,
        first_night=scenario.first_night,
        days=scenario.days,
        wakes=tuple(changes_of(policy, known, scenario.days * DAY)),
    )
    ends = [night.end for night in trace.nights]
    end = None if None in ends else max(each for each in ends if each is not None)
    delays = _delays(trace, alone)
    return Result(
        policy=policy,
        cap=limit(0.0, is_night_over=True),
        fit_delay=None if end is None else max(each.get(scenario.fit, 0.0) for each in delays),
        start_delay=None if end is None else max(max(each.values()) for each in delays),
        nightly_end=end,
        late_by=None if end is None else end - scenario.deadline,
        campaign_seconds=trace.campaign_end,
        nights=len(trace.nights),
        trace=trace,
    )


def _delays(trace: Trace, alone: Trace) -> list[dict[str, float]]:
    """Of each night, how much later each shape first started than when nightly was alone."""
    usual = [night.first_start for night in alone.nights]
    return [
        {shape: at - usual[number % len(usual)][shape] for shape, at in night.first_start.items()}
        for number, night in enumerate(trace.nights)
    ]


def _machine(
    scenario: Scenario, *, limit: Limit, has_priority: bool, campaign: Campaign | None
) -> Machine:
    return Machine(
        slots=scenario.slots,
        limit=limit,
        has_priority=has_priority,
        campaign=campaign,
        first_night=scenario.first_night,
        lead=scenario.lead.total_seconds(),
        seed=scenario.seed,
    )
