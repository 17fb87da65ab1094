"""What the plans see of a date, against the real tables."""

from datetime import date, timedelta

import pytest

from forecast_backfill.app.judge_window import judge_window
from forecast_backfill.app.seal_day import seal_day
from forecast_backfill.core.night_state import DateState, Freshness
from forecast_backfill.core.states import Workload
from forecast_backfill.warehouse.date_states import last_night, read_date_states
from forecast_backfill_tests.app.nights import (
    LAST,
    REGIONS,
    correct,
    fill,
    night,
    quarantine,
    run_night,
    seal_window,
    settings_for,
)


@pytest.fixture
def settings(database_url, tmp_path):
    fill(database_url)
    return settings_for(database_url, tmp_path)


@pytest.fixture
def wiring(settings):
    with night(settings) as opened:
        yield opened


def read(wiring) -> dict[date, DateState]:
    return dict(read_date_states(wiring.session, regions=REGIONS, horizon_days=14))


def test_a_date_that_was_never_sealed_is_told_with_what_is_decided(wiring):
    states = read(wiring)
    assert len(states) == 90
    found = states[LAST]
    assert (found.seal, found.window, found.model) == (Freshness.ABSENT, Freshness.ABSENT, None)
    assert found.decided == {"R01", "R02", "R03", "R04"}
    assert not found.is_night


def test_a_sealed_date_is_current_until_its_ledger_content_changes(wiring, database_url):
    seal_day(LAST, request=wiring.request(), ports=wiring.ports)
    assert read(wiring)[LAST].seal is Freshness.CURRENT
    correct(database_url, LAST, "R02")
    assert read(wiring)[LAST].seal is Freshness.OUTDATED
    seal_day(LAST, request=wiring.request(), ports=wiring.ports)
    assert read(wiring)[LAST].seal is Freshness.CURRENT


@pytest.mark.parametrize("keeps_output", [False, True])
def test_a_seal_of_quarantined_and_missing_regions_is_current_too(
    wiring, database_url, keeps_output
):
    """The SQL's idea of a region's state is that of core/seal.py."""
    quarantine(database_url, LAST, "R03", keeps_output=keeps_output)
    seal_day(LAST, request=wiring.request(), ports=wiring.ports)
    found = read(wiring)[LAST]
    assert found.seal is Freshness.CURRENT
    assert "R03" in found.decided


def test_a_window_is_outdated_once_a_seal_in_it_has_changed(wiring, database_url):
    seal_window(wiring)
    judge_window(LAST, request=wiring.request(), ports=wiring.ports)
    before = read(wiring)[LAST]
    assert before.window is Freshness.CURRENT
    assert before.is_trainable
    day = LAST - timedelta(days=40)
    correct(database_url, day, "R01")
    assert read(wiring)[LAST].window is Freshness.CURRENT
    seal_day(day, request=wiring.request(), ports=wiring.ports)
    after = read(wiring)[LAST]
    assert after.window is Freshness.OUTDATED
    assert after.window_seals != before.window_seals


def test_a_published_night_is_told_with_its_model(wiring):
    seal_window(wiring)
    published = run_night(wiring)
    found = read(wiring)[LAST]
    assert found.is_closed
    assert (found.is_published, found.has_own_forecast, found.is_model_of_window) == (True,) * 3
    assert found.published_model == found.model == published.model_version


def test_known_days_count_the_sealed_days_of_the_horizon(wiring):
    for back in (5, 3, 2):
        day = LAST - timedelta(days=back)
        seal_day(day, request=wiring.request(), ports=wiring.ports)
    states = read(wiring)
    known = [states[LAST - timedelta(days=back)].known_days for back in (20, 17, 6, 5, 4, 2)]
    assert known == [0, 2, 3, 2, 2, 0]


def test_the_last_night_is_remembered_although_a_campaign_sealed_it_again(
    settings, wiring, database_url
):
    assert last_night(wiring.session) is None
    seal_day(LAST, request=wiring.request(), ports=wiring.ports)
    assert last_night(wiring.session) == LAST
    correct(database_url, LAST, "R02")
    with night(settings, workload=Workload.BACKFILL, run_id="b1") as backfill:
        seal_day(LAST, request=backfill.request(), ports=backfill.ports)
    assert last_night(wiring.session) == LAST
    assert read(wiring)[LAST].is_night


def test_the_seam_of_a_run_follows_the_last_night(settings, wiring):
    """Three nights were missed since: nightly owns them still, and backfill does not."""
    seal_day(LAST - timedelta(days=4), request=wiring.request(), ports=wiring.ports)
    with night(settings) as after:
        assert after.calendar.seam == LAST - timedelta(days=3)
