"""What is published: this night's forecasts where they may be, the last ones where not."""

from datetime import date

import pytest

from forecast_backfill.core.publication import (
    NothingToPublish,
    Publication,
    PublicationStatus,
    PublishedRegion,
    plan_publication,
)

DAY = date(2026, 11, 2)
BEFORE = date(2026, 11, 1)


def shown(region, day, version):
    return PublishedRegion(region=region, source_date=day, forecast_version=version)


LAST_NIGHT = {"R01": shown("R01", BEFORE, "a1"), "R02": shown("R02", BEFORE, "b1")}


def plan(*, fresh=None, previous=None, degraded_for=(), refused_for=()):
    return plan_publication(
        DAY,
        regions=["R01", "R02"],
        model_version="m",
        fresh=fresh or {},
        previous=previous or {},
        degraded_for=degraded_for,
        refused_for=refused_for,
    )


def test_all_regions_of_an_accepted_window_are_fresh():
    assert plan(fresh={"R01": "a2", "R02": "b2"}, previous=LAST_NIGHT) == Publication(
        date=DAY,
        status=PublicationStatus.FRESH,
        model_version="m",
        regions=(shown("R01", DAY, "a2"), shown("R02", DAY, "b2")),
    )


def test_a_degraded_window_marks_all_of_it():
    published = plan(fresh={"R01": "a2", "R02": "b2"}, degraded_for=["3 % are missing"])
    assert (published.status, published.reasons) == ("degraded", ("3 % are missing",))


def test_a_region_without_a_forecast_keeps_its_last_one():
    published = plan(fresh={"R01": "a2"}, previous=LAST_NIGHT)
    assert published.status is PublicationStatus.DEGRADED
    assert published.reasons == ("region R02 keeps its forecast of 2026-11-01",)
    assert published.regions == (shown("R01", DAY, "a2"), shown("R02", BEFORE, "b1"))


def test_a_region_that_never_had_a_forecast_is_named_as_absent():
    published = plan(fresh={"R01": "a2"})
    assert (published.absent, published.reasons) == (("R02",), ("region R02 has no forecast",))


def test_a_refused_window_keeps_the_last_night_though_fresh_forecasts_are_there():
    published = plan(
        fresh={"R01": "a2", "R02": "b2"}, previous=LAST_NIGHT, refused_for=["11 % are missing"]
    )
    assert (published.status, published.model_version) == (PublicationStatus.KEPT, None)
    assert published.regions == (shown("R01", BEFORE, "a1"), shown("R02", BEFORE, "b1"))
    assert published.reasons == ("11 % are missing",)


def test_a_refusal_after_this_night_was_published_leaves_it_marked_degraded():
    own = {"R01": shown("R01", DAY, "a2"), "R02": shown("R02", DAY, "b2")}
    published = plan(previous=own, refused_for=["11 % are missing"])
    assert published.status is PublicationStatus.DEGRADED
    assert published.reasons[0] == "11 % are missing"
    assert published.regions == tuple(own.values())


def test_without_any_forecast_nothing_is_published():
    assert plan(refused_for=["11 % are missing"]) == NothingToPublish(
        date=DAY, reason="11 % are missing; and no earlier night was published"
    )


def test_a_publication_that_is_not_fresh_says_why():
    with pytest.raises(ValueError, match="a publication that is kept for"):
        Publication(date=DAY, status=PublicationStatus.KEPT, model_version=None, regions=())


def test_a_kept_publication_shows_nothing_of_its_own_night():
    with pytest.raises(ValueError, match="an earlier night's forecasts only"):
        Publication(
            date=DAY,
            status=PublicationStatus.KEPT,
            model_version=None,
            regions=(shown("R01", DAY, "a2"),),
            reasons=("x",),
        )


def test_a_mark_changes_the_version_though_the_forecasts_stay():
    first = plan(fresh={"R01": "a2", "R02": "b2"})
    second = plan(fresh={"R01": "a2", "R02": "b2"}, degraded_for=["3 % are missing"])
    assert first.data_version != second.data_version
