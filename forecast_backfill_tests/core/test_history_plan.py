"""What history needs after a campaign: step by step, and only where something has changed."""

from dataclasses import replace
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forecast_backfill.core.calendar import Calendar
from forecast_backfill.core.history_plan import HistorySituation, pending_history, plan_history
from forecast_backfill.core.night_state import (
    DateState,
    Freshness,
    Launch,
    PastLaunch,
    PastLaunches,
)
from forecast_backfill.core.states import Workload

DAY = date(2026, 11, 27)
REGIONS = ("R01", "R02", "R03")
DAYS = [DAY - timedelta(days=back) for back in range(12, -1, -1)]


def quiet(day: date, **changes) -> DateState:
    """A date that was sealed, fitted, forecast and published, and is as it was then."""
    asked = {
        "date": day,
        "content": f"c {day}",
        "seal": Freshness.CURRENT,
        "window": Freshness.CURRENT,
        "window_seals": f"s {day}",
        "is_trainable": True,
        "model": "m1",
        "is_model_of_window": True,
        "is_published": True,
        "has_own_forecast": True,
        "published_model": "m1",
    }
    return DateState(**{**asked, **changes})


def situation(changed: dict[date, dict] | None = None, **changes) -> HistorySituation:
    changed = changed or {}
    asked = {
        "calendar": Calendar(first_date=DAYS[0], latest_date=DAY, seam=DAY),
        "regions": REGIONS,
        "states": {day: quiet(day, **changed.get(day, {})) for day in DAYS},
        "launches": PastLaunches(),
        "campaign": None,
        "horizon_days": 14,
    }
    return HistorySituation(**{**asked, **changes})


def shown(plan) -> list[tuple[str, date, date]]:
    return [(each.stage.value, each.first.date, each.last.date) for each in plan.launches]


OUTDATED = {"seal": Freshness.OUTDATED}
STALE = {"window": Freshness.OUTDATED}


def test_history_that_is_as_it_was_sealed_needs_nothing():
    plan = plan_history(situation())
    assert (plan.launches, plan.reasons) == (
        (),
        ("history is as it was sealed, fitted and forecast",),
    )


def test_nothing_is_sealed_while_a_campaign_runs():
    plan = plan_history(situation({DAYS[3]: OUTDATED}, campaign="campaign abc"))
    assert (plan.launches, plan.reasons) == ((), ("waits for the end of campaign abc",))


def test_changed_dates_are_sealed_in_one_run_a_stretch():
    """A run costs more than sealing a few dates again, which changes nothing."""
    changed = dict.fromkeys((DAYS[2], DAYS[3], DAYS[8]), OUTDATED)
    (launch,) = plan_history(situation(changed)).launches
    assert (launch.first.date, launch.last.date) == (DAYS[2], DAYS[8])
    assert launch.workload is Workload.BACKFILL


def test_a_wide_gap_a_date_without_a_record_and_an_open_night_are_not_sealed_along():
    many = [DAY - timedelta(days=back) for back in range(60, -1, -1)]
    states = {day: quiet(day) for day in many}
    for index in (10, 25, 41):
        states[many[index]] = quiet(many[index], **OUTDATED)
    assert [each[1:] for each in shown(plan_history(situation(states=states)))] == [
        (many[10], many[25]),
        (many[41], many[41]),
    ]
    without = {day: state for day, state in states.items() if day != many[20]}
    assert len(plan_history(situation(states=without)).launches) == 3


def test_dates_that_were_never_sealed_are_sealed():
    bare = {day: DateState(date=day, content=f"c {day}") for day in DAYS[:5]}
    plan = plan_history(situation(states=bare))
    assert shown(plan) == [("seal", DAYS[0], DAYS[4])]


def test_a_date_without_anything_in_the_ledger_is_not_sealed():
    assert plan_history(situation(states={DAY: DateState(date=DAY)})).launches == ()


def test_windows_wait_until_every_changed_date_is_sealed():
    """One fit a window, however many of its dates a campaign has changed."""
    changed = {DAYS[3]: OUTDATED, DAYS[9]: STALE}
    plan = plan_history(situation(changed))
    assert shown(plan) == [("seal", DAYS[3], DAYS[3])]
    (launch,) = plan.launches
    running = PastLaunches(by_key={launch.key: PastLaunch(active=1)})
    waiting = plan_history(situation(changed, launches=running))
    assert waiting.reasons == ("waits for the seal runs that are under way",)


def test_exactly_the_outdated_windows_are_refitted():
    plan = plan_history(situation({DAYS[9]: STALE, DAYS[11]: STALE}))
    assert shown(plan) == [("refit", DAYS[9], DAYS[9]), ("refit", DAYS[11], DAYS[11])]


def test_a_window_that_was_refused_is_judged_again_once_its_seals_changed():
    refused = {"is_trainable": False, "model": None, "is_model_of_window": False, **STALE}
    assert shown(plan_history(situation({DAYS[9]: refused}))) == [("refit", DAYS[9], DAYS[9])]


def test_a_window_that_was_never_judged_is_left_to_a_hindcast():
    never = {"window": Freshness.ABSENT, "is_trainable": False, "model": None}
    assert plan_history(situation({DAYS[9]: never})).launches == ()


def test_another_model_is_forecast_where_readers_saw_the_one_before():
    plan = plan_history(situation({DAYS[9]: {"model": "m2"}}))
    assert shown(plan) == [("forecast", DAYS[9], DAYS[9])]


def test_a_refused_night_of_long_ago_that_has_a_model_now_is_forecast():
    """One of the last nights goes on as such: plan_night forecasts it."""
    refused = {
        "is_night": True,
        "is_published": False,
        "has_own_forecast": False,
        "published_model": None,
    }
    plan = plan_history(situation({DAYS[2]: refused, DAYS[9]: refused}))
    assert shown(plan) == [("forecast", DAYS[2], DAYS[2])]


def test_a_hindcast_model_is_not_published_by_itself():
    hindcast = {"is_published": False, "has_own_forecast": False, "published_model": None}
    assert plan_history(situation({DAYS[9]: hindcast})).launches == ()


def test_a_night_that_is_not_over_is_left_to_itself():
    open_night = {
        "is_night": True,
        "has_own_forecast": False,
        "is_published": False,
        "published_model": None,
        **OUTDATED,
    }
    assert plan_history(situation({DAY: open_night})).launches == ()
    assert shown(plan_history(situation({DAY: OUTDATED}))) == [("seal", DAY, DAY)]


@pytest.mark.parametrize(
    ("known", "measured", "cause"),
    [
        (0, 0, None),
        (1, 0, "1 days known"),
        (5, 1, None),
        (7, 1, "7 days known"),
        (13, 7, None),
        (14, 7, "14 days known"),
        (14, 14, None),
    ],
)
def test_accuracy_is_measured_after_a_day_a_week_and_the_whole_horizon(known, measured, cause):
    plan = plan_history(situation({DAYS[0]: {"known_days": known, "measured_days": measured}}))
    assert [each.cause for each in plan.launches] == ([] if cause is None else [cause])


def test_a_launch_that_was_done_for_the_same_cause_is_not_repeated():
    asked = situation({DAYS[9]: STALE})
    (launch,) = plan_history(asked).launches
    done = PastLaunches(by_key={launch.key: PastLaunch(succeeded=1)})
    assert plan_history(replace(asked, launches=done)).launches == ()
    again = replace(
        asked, launches=done, states={DAYS[9]: quiet(DAYS[9], **STALE, window_seals="x")}
    )
    assert len(plan_history(again).launches) == 1


def test_a_first_night_waits_for_seals_of_its_history():
    assert pending_history(situation()) is None
    assert pending_history(situation(campaign="campaign a")) == "campaign a is running"
    changed = {DAYS[3]: OUTDATED}
    assert pending_history(situation(changed)) == "dates before it are being sealed"


@given(st.sets(st.sampled_from(DAYS)), st.integers(1, 6))
def test_a_campaign_leads_to_one_seal_a_changed_date_and_one_fit_an_affected_window(
    changed, length
):
    """Windows of `length` days: those that hold a changed date are refitted, each once."""
    asked = situation(dict.fromkeys(changed, OUTDATED))
    sealed: list[date] = []
    fitted: list[date] = []
    forecast: list[date] = []
    for _ in range(40):
        plan = plan_history(asked)
        if not plan.launches:
            break
        asked = _carry_out(asked, plan.launches, length, (sealed, fitted, forecast))
    affected = [
        day
        for day in DAYS
        if any(timedelta() <= day - each < timedelta(days=length) for each in changed)
    ]
    assert sorted(sealed) == sorted(changed)
    assert sorted(fitted) == affected
    assert sorted(forecast) == affected


def _carry_out(
    asked: HistorySituation,
    launches: tuple[Launch, ...],
    length: int,
    done: tuple[list[date], list[date], list[date]],
) -> HistorySituation:
    sealed, fitted, forecast = done
    states = dict(asked.states)
    for launch in launches:
        days = [day for day in DAYS if launch.first.date <= day <= launch.last.date]
        for day in days:
            if launch.stage == "seal" and states[day].seal is Freshness.CURRENT:
                continue
            if launch.stage == "seal":
                sealed.append(day)
                states[day] = replace(states[day], seal=Freshness.CURRENT)
                for later in DAYS:
                    if timedelta() <= later - day < timedelta(days=length):
                        states[later] = replace(
                            states[later],
                            window=Freshness.OUTDATED,
                            window_seals=states[later].window_seals + "x",
                        )
            elif launch.stage == "refit":
                fitted.append(day)
                states[day] = replace(states[day], window=Freshness.CURRENT, model="m2")
            else:
                forecast.append(day)
                states[day] = replace(states[day], published_model=states[day].model)
    past = {**asked.launches.by_key, **{each.key: PastLaunch(succeeded=1) for each in launches}}
    return replace(asked, states=states, launches=PastLaunches(by_key=past))
