"""What the nights need next: in order, waiting for late files, never the same thing twice."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from datetime import time as Time
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forecast_backfill.core.calendar import Calendar
from forecast_backfill.core.night_plan import NightSituation, nights_of, plan_night, spans_of
from forecast_backfill.core.night_state import (
    DateState,
    Freshness,
    Launch,
    NightHours,
    PastLaunch,
    PastLaunches,
    Stage,
)
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import Workload

NEW_YORK = ZoneInfo("America/New_York")
REGIONS = ("R01", "R02", "R03", "R04")
ALL = frozenset(REGIONS)
DAY = date(2026, 11, 27)
HOURS = NightHours(nightly_time=Time(3, 30), cut_off_time=Time(5, 0), zone=NEW_YORK)
AT_START = datetime(2026, 11, 28, 8, 30, tzinfo=UTC)
AFTER_CUT_OFF = datetime(2026, 11, 28, 10, 0, tzinfo=UTC)
SEALED = DateState(date=DAY, decided=ALL, content="c1", seal=Freshness.CURRENT, is_night=True)
FITTED = replace(
    SEALED,
    window=Freshness.CURRENT,
    is_trainable=True,
    model="m1",
    is_model_of_window=True,
)
PUBLISHED = replace(FITTED, is_published=True, has_own_forecast=True, published_model="m1")


def situation(*states: DateState, **changes) -> NightSituation:
    asked = {
        "now": AT_START,
        "hours": HOURS,
        "calendar": Calendar(first_date=DAY - timedelta(days=100), latest_date=DAY, seam=DAY),
        "regions": REGIONS,
        "states": {each.date: each for each in states},
        "landed": {DAY: ALL},
        "launches": PastLaunches(),
        "is_first": False,
    }
    return NightSituation(**{**asked, **changes})


def span(first: str, last: str, day: date = DAY) -> tuple[Partition, Partition]:
    return Partition(date=day, region=first), Partition(date=day, region=last)


def shown(plan) -> list[tuple[str, date, str, str]]:
    return [
        (each.stage.value, each.first.date, each.first.region, each.last.region)
        for each in plan.launches
    ]


def after(launch: Launch, **counts: int) -> PastLaunches:
    return PastLaunches(by_key={launch.key: PastLaunch(**counts)})


def test_a_night_begins_with_all_regions_in_one_run():
    plan = plan_night(situation())
    assert shown(plan) == [("regions", DAY, "R01", "R04")]
    assert plan.launches[0].workload is Workload.NIGHTLY


def test_nothing_happens_before_the_night_begins():
    plan = plan_night(situation(now=AT_START - timedelta(seconds=1)))
    assert plan.launches == ()
    assert plan.reasons == ("2026-11-27: its night begins at 2026-11-28 03:30 EST",)


def test_the_sensor_leaves_the_start_to_the_schedule_for_a_while():
    grace = timedelta(minutes=2)
    assert plan_night(situation(grace=grace)).launches == ()
    assert plan_night(situation(grace=grace, now=AT_START + grace)).launches != ()


def test_regions_that_are_not_landed_wait_and_the_others_are_built():
    plan = plan_night(situation(landed={DAY: ALL - {"R02"}}))
    assert shown(plan) == [("regions", DAY, "R01", "R01"), ("regions", DAY, "R03", "R04")]


def test_a_night_waits_for_a_late_file_until_the_cut_off():
    state = DateState(date=DAY, decided=ALL - {"R02"}, content="c")
    landed = {DAY: ALL - {"R02"}}
    early = plan_night(situation(state, landed=landed))
    assert early.reasons == ("2026-11-27: waits for R02 until 05:00 EST",)
    late = plan_night(situation(state, landed=landed, now=AFTER_CUT_OFF))
    assert shown(late) == [("night", DAY, "R01", "R04")]


def test_a_late_file_that_comes_before_the_cut_off_is_built_alone():
    state = DateState(date=DAY, decided=ALL - {"R02"}, content="c")
    assert shown(plan_night(situation(state))) == [("regions", DAY, "R02", "R02")]


def test_a_file_that_comes_after_the_night_is_over_is_still_built():
    """Nightly owns the date until the next one ends; history then seals and fits it again."""
    late = replace(PUBLISHED, decided=ALL - {"R02"})
    plan = plan_night(situation(late, now=AFTER_CUT_OFF + timedelta(hours=6)))
    assert shown(plan) == [("regions", DAY, "R02", "R02")]


def test_regions_that_are_being_built_are_waited_for_even_after_the_cut_off():
    (launch,) = plan_night(situation()).launches
    plan = plan_night(situation(now=AFTER_CUT_OFF, launches=after(launch, active=1)))
    assert plan.reasons == ("2026-11-27: its regions are being built",)


def test_a_night_whose_regions_are_decided_is_sealed_and_fitted():
    state = DateState(date=DAY, decided=ALL, content="c")
    assert shown(plan_night(situation(state))) == [("night", DAY, "R01", "R04")]


def test_forecasts_follow_a_model():
    assert shown(plan_night(situation(FITTED))) == [("forecast", DAY, "R01", "R04")]


def test_a_published_night_needs_nothing():
    plan = plan_night(situation(PUBLISHED))
    assert (plan.launches, plan.reasons) == ((), ("2026-11-27: published",))


def test_a_refused_window_ends_the_night():
    refused = replace(SEALED, window=Freshness.CURRENT)
    plan = plan_night(situation(refused))
    assert (plan.launches, plan.reasons) == ((), ("2026-11-27: its window was refused",))


def test_a_seal_that_died_before_its_fit_is_launched_again():
    assert shown(plan_night(situation(SEALED))) == [("night", DAY, "R01", "R04")]


def test_a_run_that_is_under_way_is_not_launched_twice():
    (launch,) = plan_night(situation(FITTED)).launches
    plan = plan_night(situation(FITTED, launches=after(launch, active=1)))
    assert plan.reasons == ("2026-11-27: its forecast run is under way",)


@pytest.mark.parametrize(("failed", "is_launched"), [(1, True), (2, True), (3, False)])
def test_a_run_is_tried_three_times_and_then_left_to_people(failed, is_launched):
    (launch,) = plan_night(situation(FITTED)).launches
    plan = plan_night(situation(FITTED, launches=after(launch, failed=failed)))
    assert bool(plan.launches) is is_launched


def test_nothing_landed_and_no_night_before_is_left_alone():
    plan = plan_night(situation(landed={}, is_first=True, now=AFTER_CUT_OFF))
    assert plan.launches == ()
    assert "nothing was landed, and no night was published before" in plan.reasons[0]


def test_nothing_landed_after_other_nights_is_sealed_at_the_cut_off():
    """So the last night's forecasts are kept, and people are told."""
    plan = plan_night(situation(landed={}, now=AFTER_CUT_OFF))
    assert shown(plan) == [("night", DAY, "R01", "R04")]


def test_the_first_night_waits_for_the_campaign_that_builds_its_window():
    state = DateState(date=DAY, decided=ALL, content="c")
    waiting = plan_night(situation(state, is_first=True, history_pending="campaign a is running"))
    assert waiting.reasons == (
        "2026-11-27: the first night waits for its history: campaign a is running",
    )
    later = plan_night(situation(state, history_pending="campaign a is running"))
    assert shown(later) == [("night", DAY, "R01", "R04")]


def outage(**changes) -> NightSituation:
    """Three nights were missed; all of their files are there."""
    days = [DAY - timedelta(days=back) for back in (2, 1, 0)]
    calendar = Calendar(first_date=DAY - timedelta(days=100), latest_date=DAY, seam=days[0])
    landed = dict.fromkeys(days, ALL)
    return situation(calendar=calendar, landed=landed, now=AFTER_CUT_OFF, **changes)


def advance(asked: NightSituation, plan) -> NightSituation:
    """The world after the plan's runs came to a good end."""
    states = dict(asked.states)
    for launch in plan.launches:
        day = launch.first.date
        before = states.get(day, DateState(date=day))
        match launch.stage:
            case Stage.REGIONS:
                states[day] = replace(before, decided=ALL, content="c1")
            case Stage.NIGHT:
                states[day] = replace(FITTED, date=day)
            case _:
                states[day] = replace(PUBLISHED, date=day)
    sealed = [day for day, state in states.items() if state.is_night]
    seam = min(DAY, max(sealed) + timedelta(days=1)) if sealed else asked.calendar.seam
    return replace(asked, states=states, calendar=replace(asked.calendar, seam=seam))


def test_after_an_outage_of_three_nights_each_is_run_oldest_first():
    asked = outage()
    done = []
    for _ in range(9):
        plan = plan_night(asked)
        done += [(each.stage.value, (DAY - each.first.date).days) for each in plan.launches]
        asked = advance(asked, plan)
    assert done == [
        (stage, back) for back in (2, 1, 0) for stage in ("regions", "night", "forecast")
    ]
    assert plan_night(asked).launches == ()


def test_a_night_that_was_given_up_does_not_keep_the_next_one_from_running():
    asked = outage(launches=PastLaunches())
    oldest = DAY - timedelta(days=2)
    sealed = replace(SEALED, date=oldest)
    asked = replace(
        asked,
        states={oldest: sealed},
        calendar=replace(asked.calendar, seam=oldest + timedelta(days=1)),
    )
    (launch,) = plan_night(asked).launches
    plan = plan_night(replace(asked, launches=after(launch, failed=3)))
    assert shown(plan) == [("regions", DAY - timedelta(days=1), "R01", "R04")]
    assert "left to people" in plan.reasons[0]


@given(
    st.lists(st.sampled_from(["ok", "crash"]), min_size=0, max_size=30),
    st.sets(st.sampled_from(REGIONS)),
)
def test_whatever_crashes_each_night_ends_and_no_run_is_launched_a_fourth_time(ends, late):
    """Each launch ends well or badly by chance; nights go on in order and come to rest."""
    asked = outage()
    asked = replace(asked, landed=dict.fromkeys(asked.landed, ALL - late))
    tried: dict[str, int] = {}
    order: list[date] = []
    results = iter(ends)
    for _ in range(60):
        plan = plan_night(asked)
        if not plan.launches:
            break
        for launch in plan.launches:
            tried[launch.key] = tried.get(launch.key, 0) + 1
            order.append(launch.first.date)
        crashed = next(results, "ok") == "crash"
        past = {key: PastLaunch(failed=count) for key, count in tried.items()}
        if not crashed:
            for launch in plan.launches:
                past[launch.key] = PastLaunch(succeeded=1)
                tried[launch.key] = 0
            asked = advance(asked, plan)
        asked = replace(asked, launches=PastLaunches(by_key={**asked.launches.by_key, **past}))
    else:
        raise AssertionError("the nights did not come to rest")
    assert order == sorted(order)
    assert all(count <= 3 for count in tried.values())


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        # The night of 7 March is the one in which clocks go forward at 02:00, to 03:00.
        (date(2026, 3, 6), datetime(2026, 3, 7, 8, 30, tzinfo=UTC)),
        (date(2026, 3, 7), datetime(2026, 3, 8, 7, 30, tzinfo=UTC)),
        # On 1 November they go back at 02:00, to 01:00.
        (date(2026, 10, 31), datetime(2026, 11, 1, 8, 30, tzinfo=UTC)),
        (date(2026, 10, 30), datetime(2026, 10, 31, 7, 30, tzinfo=UTC)),
    ],
)
def test_a_night_begins_at_the_local_time_whatever_the_clocks_did(day, expected):
    assert HOURS.begins_at(day).astimezone(UTC) == expected


def test_nights_are_those_of_nightly_and_those_that_it_has_sealed_of_late():
    sealed = DAY - timedelta(days=3)
    states = {sealed: replace(SEALED, date=sealed)}
    calendar = Calendar(
        first_date=DAY - timedelta(days=100), latest_date=DAY, seam=DAY - timedelta(days=1)
    )
    assert nights_of(calendar, states) == (sealed, DAY - timedelta(days=1), DAY)


@given(st.sets(st.sampled_from([f"R{number:02d}" for number in range(1, 13)])))
def test_spans_hold_exactly_what_is_wanted_in_order(wanted):
    known = [f"R{number:02d}" for number in range(1, 13)]
    spans = spans_of(wanted, known)
    assert [name for each in spans for name in each] == [name for name in known if name in wanted]
    for before, later in pairwise(spans):
        assert known.index(later[0]) > known.index(before[-1]) + 1
