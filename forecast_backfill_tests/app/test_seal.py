"""Seals and windows: content decides versions, and a campaign's changes are named."""

import threading
from datetime import timedelta

import pytest

from forecast_backfill.app.judge_window import judge_window
from forecast_backfill.app.seal_day import seal_day
from forecast_backfill.core.errors import EpochRaised
from forecast_backfill.core.seal import build_seal
from forecast_backfill.core.states import Workload
from forecast_backfill.warehouse.kill import kill
from forecast_backfill_tests.app.nights import (
    LAST,
    REGIONS,
    correct,
    execute,
    fetch,
    fit_day,
    night,
    quarantine,
    seal_window,
)

DAY = LAST - timedelta(days=30)


def seal(wiring, campaign_id=None):
    return seal_day(DAY, request=wiring.request(campaign_id=campaign_id), ports=wiring.ports)


def test_the_same_content_sealed_again_has_the_same_version_and_is_no_change(wiring, database_url):
    first = seal(wiring)
    execute(database_url, "UPDATE partition_ledger SET attempt = attempt + 1, run_id = 'again'")
    assert seal(wiring).data_version == first.data_version
    assert fetch(database_url, "SELECT count(*) FROM demand_seal_change") == [(1,)]


def test_a_campaign_that_changes_a_date_gives_its_seal_another_version(wiring, database_url):
    first = seal(wiring)
    correct(database_url, DAY, "R02")
    second = seal(wiring, campaign_id="spring")
    assert second.data_version != first.data_version
    assert fetch(
        database_url,
        "SELECT changed_regions, previous_version, campaign_id FROM demand_seal_change"
        " ORDER BY change_id DESC LIMIT 1",
    ) == [(["R02"], first.data_version, "spring")]


def test_a_campaign_that_changes_another_date_leaves_the_seal_as_it_was(wiring, database_url):
    first = seal(wiring)
    correct(database_url, DAY + timedelta(days=1), "R02")
    assert seal(wiring).data_version == first.data_version


def test_a_seal_says_why_a_region_is_out(wiring, database_url):
    quarantine(database_url, DAY, "R01")
    quarantine(database_url, DAY, "R02", keeps_output=True)
    execute(database_url, "DELETE FROM partition_ledger WHERE region = 'R03'")
    seal(wiring)
    stale = "the readable output is older than its source: quarantined: 1 fault: bad_number"
    assert fetch(
        database_url,
        "SELECT region, state, version, reason FROM demand_seal_region ORDER BY region",
    ) == [
        ("R01", "quarantined", None, "quarantined: 1 fault: bad_number"),
        ("R02", "stale", f"v1 {DAY}R02", stale),
        ("R03", "missing", None, "no source was landed or tried"),
        ("R04", "in", f"v1 {DAY}R04", None),
    ]


def test_a_killed_workload_seals_nothing(wiring, database_url):
    request = wiring.request()
    kill(wiring.session, Workload.NIGHTLY, reason="test", changed_by="test")
    with pytest.raises(EpochRaised):
        seal_day(DAY, request=request, ports=wiring.ports)
    assert fetch(database_url, "SELECT count(*) FROM demand_seal") == [(0,)]


def test_a_refit_names_the_dates_that_a_campaign_changed(wiring, database_url):
    seal_window(wiring)
    first = judge_window(LAST, request=wiring.request(), ports=wiring.ports)
    fit_day(wiring)
    correct(database_url, DAY, "R02")
    seal(wiring, campaign_id="spring")
    second = judge_window(LAST, request=wiring.request(), ports=wiring.ports)
    assert first.changed_dates == ()
    assert second.changed_dates == (DAY,)
    assert second.data_version != first.data_version
    assert fit_day(wiring).changed_dates == (DAY,)


def test_a_stored_verdict_comes_back_as_it_was(wiring, database_url):
    quarantine(database_url, DAY, "R02", keeps_output=True)
    seal_window(wiring)
    judged = judge_window(LAST, request=wiring.request(), ports=wiring.ports)
    assert wiring.ports.windows.find(LAST) == judged


def test_two_sealers_of_a_date_queue_up_and_the_later_one_has_the_later_content(
    wiring, settings, database_url
):
    """The second starts while the first holds the lease, after a campaign's commit in between."""
    held = []

    def seal_too():
        with night(settings, run_id="n2") as other:
            seal(other)

    second = threading.Thread(target=seal_too)

    def build(outputs):
        correct(database_url, DAY, "R02")
        second.start()
        second.join(timeout=1.0)
        held.append(second.is_alive())
        return build_seal(DAY, regions=REGIONS, outputs=outputs)

    wiring.ports.seals.seal(DAY, wiring.request(), build)
    second.join(timeout=20)
    assert held == [True]
    assert fetch(database_url, "SELECT version FROM demand_seal_region WHERE region = 'R02'") == [
        (f"v2 9 {DAY}R02",)
    ]
