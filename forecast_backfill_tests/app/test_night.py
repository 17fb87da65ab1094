"""A night through its real adapters: what is left out, refused, kept and published."""

from dataclasses import replace
from datetime import timedelta

from forecast_backfill.app.judge_window import judge_window, override_window
from forecast_backfill.app.seal_day import seal_day
from forecast_backfill.core.completeness import Override
from forecast_backfill.core.publication import NothingToPublish, PublicationStatus
from forecast_backfill.ports.night_values import NotTrained, VerdictKind
from forecast_backfill_tests.app.nights import (
    LAST,
    REGIONS,
    execute,
    fetch,
    fill,
    fit_day,
    forecast_day,
    night,
    publish,
    quarantine,
    run_night,
    seal_window,
    settings_for,
)

DAYS = [LAST - timedelta(days=back) for back in range(90)]


def judge(wiring):
    return judge_window(LAST, request=wiring.request(), ports=wiring.ports)


def test_a_whole_night_publishes_every_series_and_day_fresh(wiring, database_url):
    seal_window(wiring)
    published = run_night(wiring)
    assert published.status is PublicationStatus.FRESH
    assert fetch(
        database_url,
        "SELECT region, count(*), count(DISTINCT demand_group), min(target_date), max(target_date)"
        " FROM published_forecast WHERE date = %s GROUP BY region ORDER BY region",
        LAST,
    ) == [
        (region, 42, 3, LAST + timedelta(days=1), LAST + timedelta(days=14)) for region in REGIONS
    ]


def test_a_corrupt_region_day_is_left_out_and_listed_and_the_fit_goes_on(wiring, database_url):
    quarantine(database_url, DAYS[40], "R03")
    seal_window(wiring)
    published = run_night(wiring)
    assert published.status is PublicationStatus.FRESH
    assert fetch(
        database_url,
        "SELECT partition_date, region, state, reason, is_used FROM model_coverage",
    ) == [(DAYS[40], "R03", "quarantined", "quarantined: 1 fault: bad_number", False)]
    assert fetch(database_url, "SELECT expected, left_out FROM demand_model") == [(360, 1)]
    assert fetch(database_url, "SELECT kind, audience FROM notice WHERE kind LIKE 'model%%'") == [
        ("model_exclusions", "nightly")
    ]


def test_above_the_threshold_nothing_is_fitted_and_last_nights_forecasts_stay(wiring, database_url):
    before = LAST - timedelta(days=1)
    fill(database_url, first=LAST - timedelta(days=90), last=LAST - timedelta(days=90))
    seal_window(wiring, before)
    assert run_night(wiring, before).status is PublicationStatus.FRESH
    for day in DAYS[1:11]:
        for region in REGIONS:
            quarantine(database_url, day, region)
    seal_window(wiring)
    verdict = judge(wiring)
    assert verdict.kind is VerdictKind.REFUSED
    assert isinstance(fit_day(wiring), NotTrained)
    assert [type(each).__name__ for each in forecast_day(wiring)] == ["ForecastRefused"] * 4
    published = publish(wiring)
    assert published.status is PublicationStatus.KEPT
    assert published.reasons[0] == "40 of 360 partitions are missing (11.11%), more than 10.00%"
    assert fetch(
        database_url,
        "SELECT DISTINCT status, source_date FROM published_forecast WHERE date = %s",
        LAST,
    ) == [("kept", before)]
    assert fetch(database_url, "SELECT count(*) FROM published_forecast WHERE date = %s", LAST) == [
        (168,)
    ]
    assert fetch(database_url, "SELECT kind FROM notice ORDER BY kind") == [
        ("contract_refused",),
        ("publication_kept",),
    ]


def test_a_refusal_without_an_earlier_night_publishes_nothing(wiring, database_url):
    execute(database_url, "DELETE FROM partition_ledger WHERE region = 'R01'")
    seal_window(wiring)
    fit_day(wiring)
    published = publish(wiring)
    assert isinstance(published, NothingToPublish)
    assert fetch(database_url, "SELECT count(*) FROM forecast_publication") == [(0,)]


def test_a_region_that_is_gone_is_refused_though_the_total_is_under_the_threshold(
    database_url, tmp_path
):
    """28 of 360 partitions are 7.8 %: a limit of 9 % alone would take the window."""
    fill(database_url)
    loose = settings_for(database_url, tmp_path, max_missing_percent=9, max_degraded_percent=9)
    for day in DAYS[:28]:
        quarantine(database_url, day, "R02")
    with night(loose) as wiring:
        seal_window(wiring)
        verdict = judge(wiring)
        assert (verdict.kind, verdict.reasons) == (
            VerdictKind.REFUSED,
            ("region R02 misses 28 of the last 28 days, more than 7",),
        )
        assert isinstance(fit_day(wiring), NotTrained)


def test_stale_counts_as_missing_unless_the_contract_says_otherwise(wiring, database_url, tmp_path):
    quarantine(database_url, DAYS[50], "R01", keeps_output=True)
    seal_window(wiring)
    verdict = judge(wiring)
    assert [(str(each.partition), each.state) for each in verdict.left_out] == [
        (f"{DAYS[50]} R01", "stale")
    ]
    with night(settings_for(database_url, tmp_path, accepts_stale=True)) as lenient:
        verdict = judge(lenient)
    assert verdict.left_out == ()
    assert [str(each.partition) for each in verdict.stale_used] == [f"{DAYS[50]} R01"]


def test_a_named_person_takes_exactly_one_content_of_a_window(wiring, database_url):
    for day in DAYS[40:61]:
        quarantine(database_url, day, "R04")
    seal_window(wiring)
    assert judge(wiring).kind is VerdictKind.NEEDS_OVERRIDE
    person = Override(by="Ada", reason="R04 was closed for a refit")
    override_window(LAST, person, ports=wiring.ports)
    verdict = judge(wiring)
    assert (verdict.kind, verdict.override) == (VerdictKind.DEGRADED, person)
    quarantine(database_url, DAYS[61], "R04")
    seal_day(DAYS[61], request=wiring.request(), ports=wiring.ports)
    assert judge(wiring).kind is VerdictKind.NEEDS_OVERRIDE


def test_a_degraded_window_publishes_marked_degraded(wiring, database_url):
    for day in DAYS[40:50]:
        quarantine(database_url, day, "R04")
    seal_window(wiring)
    published = run_night(wiring)
    assert published.status is PublicationStatus.DEGRADED
    assert published.reasons == ("10 of 360 partitions are missing (2.78%), more than 2.00%",)


def test_a_region_without_a_forecast_keeps_its_last_one_and_the_night_is_degraded(
    wiring, database_url
):
    before = LAST - timedelta(days=1)
    fill(database_url, first=LAST - timedelta(days=90), last=LAST - timedelta(days=90))
    seal_window(wiring, before)
    run_night(wiring, before)
    seal_window(wiring)
    fit_day(wiring)
    forecast_day(wiring, regions=("R01", "R02", "R04"))
    published = publish(wiring)
    assert (published.status, published.reasons) == (
        PublicationStatus.DEGRADED,
        (f"region R03 keeps its forecast of {before}",),
    )
    forecast_day(wiring, regions=("R03",))
    assert publish(wiring).status is PublicationStatus.FRESH


def test_a_refusal_after_the_night_was_published_leaves_it_marked_degraded(wiring, database_url):
    seal_window(wiring)
    run_night(wiring)
    for day in DAYS[1:11]:
        for region in REGIONS:
            quarantine(database_url, day, region)
    seal_window(wiring)
    fit_day(wiring)
    published = publish(wiring)
    assert published.status is PublicationStatus.DEGRADED
    assert {each.source_date for each in published.regions} == {LAST}


def test_forecasting_again_by_the_same_model_changes_nothing(wiring):
    seal_window(wiring)
    fit_day(wiring)
    assert [each.is_changed for each in forecast_day(wiring)] == [True] * 4
    assert [each.is_changed for each in forecast_day(wiring)] == [False] * 4


def test_a_window_that_ends_before_its_date_is_refused(wiring, database_url):
    """A stale window passes every gate of accuracy; its last date has to be there."""
    execute(database_url, "DELETE FROM partition_ledger WHERE date = %s", LAST)
    seal_window(wiring)
    verdict = judge(wiring)
    assert (verdict.kind, verdict.reasons) == (
        VerdictKind.REFUSED,
        (f"{LAST} is missing in all 4 regions",),
    )


def test_a_date_that_was_never_sealed_is_missing(wiring):
    """What lies in the tables does not count before it is sealed."""
    seal_day(LAST, request=wiring.request(), ports=wiring.ports)
    verdict = judge(wiring)
    assert verdict.kind is VerdictKind.REFUSED
    assert (verdict.expected, len(verdict.left_out)) == (360, 356)
    assert {each.reason for each in verdict.left_out} == {"no seal has this partition"}


def test_a_model_that_was_replaced_meanwhile_forecasts_nothing(wiring, database_url):
    """The model's version and its bytes are read one after the other."""
    seal_window(wiring)
    fit_day(wiring)

    class _Replaced:
        def __init__(self, models):
            self.find = models.find

        def artefact(self, day, version):
            return None

    ports = replace(wiring.ports, models=_Replaced(wiring.ports.models))
    outcomes = forecast_day(replace(wiring, ports=ports), regions=("R01",))
    assert outcomes[0].reasons == ("the model was replaced meanwhile; launch it again",)
    assert fetch(database_url, "SELECT count(*) FROM demand_forecast") == [(0,)]


def test_forecasts_that_are_not_complete_are_not_written(wiring, database_url):
    seal_window(wiring)
    fit_day(wiring)

    class _Short:
        def __init__(self, forecaster):
            self._forecaster = forecaster

        def forecast(self, artefact, version):
            whole = self._forecaster.forecast(artefact, version)
            return {region: rows[1:] for region, rows in whole.items()}

    ports = replace(wiring.ports, forecaster=_Short(wiring.ports.forecaster))
    outcomes = forecast_day(replace(wiring, ports=ports), regions=("R01",))
    first = LAST + timedelta(days=1)
    assert outcomes[0].reasons == (f"1 forecasts are missing: BREAD on {first}",)
    assert fetch(database_url, "SELECT count(*) FROM demand_forecast") == [(0,)]
