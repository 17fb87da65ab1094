"""What a launch may ask for."""

from __future__ import annotations

from datetime import date

import pytest

from forecast_backfill.app.campaign import (
    BackfillState,
    PartitionSpan,
    plan_launch,
    plan_retry,
)
from forecast_backfill.core.calendar import Calendar
from forecast_backfill.core.errors import UsageRefused
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.version import Winner

CALENDAR = Calendar(
    first_date=date(2026, 1, 1), latest_date=date(2026, 3, 31), seam=date(2026, 3, 31)
)
KNOWN = ("R01", "R02", "R03", "R04")


def plan(start: date, end: date, *regions: str):
    """Plan with the test's calendar and regions."""
    return plan_launch(start=start, end=end, regions=regions, known=KNOWN, calendar=CALENDAR)


def test_all_regions_make_one_span_whose_last_date_is_the_day_before_the_end() -> None:
    found = plan(date(2026, 3, 1), date(2026, 3, 4), *KNOWN)
    assert found.spans == (
        PartitionSpan(
            first=Partition(date=date(2026, 3, 1), region="R01"),
            last=Partition(date=date(2026, 3, 3), region="R04"),
        ),
    )
    assert found.partitions == 12


def test_regions_that_are_not_neighbours_make_several_spans() -> None:
    found = plan(date(2026, 3, 1), date(2026, 3, 2), "R04", "R01", "R02")
    assert [(each.first.region, each.last.region) for each in found.spans] == [
        ("R01", "R02"),
        ("R04", "R04"),
    ]
    assert found.partitions == 3


@pytest.mark.parametrize("end", [date(2026, 3, 1), date(2026, 2, 28)])
def test_an_empty_or_inverted_range_is_refused(end: date) -> None:
    with pytest.raises(UsageRefused, match="holds no date"):
        plan(date(2026, 3, 1), end, "R01")


def test_an_unknown_region_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageRefused, match=r"unknown region 'R99'.*R01, R02, R03, R04"):
        plan(date(2026, 3, 1), date(2026, 3, 2), "R01", "R99")


def test_a_date_before_the_first_is_refused() -> None:
    with pytest.raises(UsageRefused, match="2025-12-31 is before the first date 2026-01-01"):
        plan(date(2025, 12, 31), date(2026, 1, 2), "R01")


def test_a_date_that_is_not_over_is_refused() -> None:
    with pytest.raises(UsageRefused, match="2026-04-01 is after the latest date 2026-03-31"):
        plan(date(2026, 3, 30), date(2026, 4, 2), "R01")


def test_a_date_that_nightly_owns_is_refused_with_the_end_that_would_fit() -> None:
    with pytest.raises(UsageRefused, match="nightly owns 2026-03-31") as refused:
        plan(date(2026, 3, 30), date(2026, 4, 1), "R01")
    assert "--to 2026-03-31" in refused.value.next_command


def test_an_overlap_may_ask_for_dates_of_nightly_and_says_who_wins() -> None:
    found = plan_launch(
        start=date(2026, 3, 30),
        end=date(2026, 4, 1),
        regions=["R01"],
        known=KNOWN,
        calendar=CALENDAR,
        winner=Winner.CORRECTION,
    )
    assert (found.partitions, found.winner) == (2, Winner.CORRECTION)
    assert found.title == "2026-03-30 to 2026-03-31, R01, overlap, correction wins"


def test_an_overlap_asks_for_no_date_that_is_not_over() -> None:
    with pytest.raises(UsageRefused, match="after the latest date"):
        plan_launch(
            start=date(2026, 3, 30),
            end=date(2026, 4, 2),
            regions=["R01"],
            known=KNOWN,
            calendar=CALENDAR,
            winner=Winner.LIVE,
        )


def test_the_last_date_before_the_seam_is_planned() -> None:
    assert plan(date(2026, 3, 30), date(2026, 3, 31), "R01").partitions == 1


def test_a_retry_launches_exactly_the_given_partitions() -> None:
    one = Partition(date=date(2026, 3, 2), region="R01")
    two = Partition(date=date(2026, 3, 1), region="R03")
    assert plan_retry([one, two, one]).spans == (
        PartitionSpan(first=two, last=two),
        PartitionSpan(first=one, last=one),
    )


def test_a_retry_of_nothing_is_refused() -> None:
    with pytest.raises(UsageRefused, match="nothing to retry"):
        plan_retry([])


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("REQUESTED", BackfillState.ACTIVE),
        ("CANCELING", BackfillState.ACTIVE),
        ("COMPLETED_SUCCESS", BackfillState.SUCCEEDED),
        ("COMPLETED_FAILED", BackfillState.ENDED_OTHERWISE),
        ("CANCELED", BackfillState.ENDED_OTHERWISE),
        ("A_STATUS_OF_A_LATER_DAGSTER", BackfillState.ACTIVE),
    ],
)
def test_a_status_that_is_not_known_counts_as_still_active(
    status: str, state: BackfillState
) -> None:
    assert BackfillState.of(status) is state
