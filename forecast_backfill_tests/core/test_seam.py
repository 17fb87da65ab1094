"""The seam: each date has exactly one owner."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forecast_backfill.core.partition import Partition
from forecast_backfill.core.seam import Go, GoBeside, SeamRefusal, judge
from forecast_backfill.core.states import Workload

SEAM = date(2026, 11, 28)


def verdict(day, workload):
    return judge(partition=Partition(date=day, region="R07"), workload=workload, seam=SEAM)


@pytest.mark.parametrize(
    ("day", "workload"),
    [
        (date(2026, 11, 27), Workload.BACKFILL),
        (date(2026, 11, 28), Workload.NIGHTLY),
        (date(2026, 12, 24), Workload.NIGHTLY),
    ],
)
def test_an_owner_may_write(day, workload):
    assert verdict(day, workload) == Go()


def test_a_backfill_at_the_seam_is_told_who_owns_it_until_when_and_what_to_do():
    assert verdict(date(2026, 11, 28), Workload.BACKFILL) == SeamRefusal(
        owner=Workload.NIGHTLY,
        reason="nightly owns 2026-11-28 and every later date until the seam moves past it",
        next_command="forecast-backfill backfill … --to 2026-11-28 (the end is exclusive); "
        "or --overlap to merge beside nightly",
    )


def test_nightly_before_the_seam_is_told_to_ask_for_a_backfill():
    assert verdict(date(2026, 11, 27), Workload.NIGHTLY) == SeamRefusal(
        owner=Workload.BACKFILL,
        reason="backfill owns every date before 2026-11-28; nightly may not rewrite history",
        next_command="forecast-backfill backfill --from 2026-11-27 --to 2026-11-28 --regions R07",
    )


@pytest.mark.parametrize(
    ("day", "owner"),
    [(date(2026, 11, 27), Workload.BACKFILL), (date(2026, 11, 28), Workload.NIGHTLY)],
)
def test_an_overlap_may_write_beside_the_owner_on_either_side(day, owner):
    found = judge(
        partition=Partition(date=day, region="R07"),
        workload=Workload.BACKFILL,
        seam=SEAM,
        is_overlap=True,
    )
    assert found == GoBeside(
        owner=owner, reason=f"{owner} owns {day}; the campaign merges beside it"
    )


def test_an_overlap_opens_history_to_no_nightly():
    found = judge(
        partition=Partition(date=date(2026, 11, 27), region="R07"),
        workload=Workload.NIGHTLY,
        seam=SEAM,
        is_overlap=True,
    )
    assert isinstance(found, SeamRefusal)


@given(st.integers(-400, 400))
def test_every_date_has_exactly_one_owner(offset):
    day = SEAM + timedelta(days=offset)
    owners = [workload for workload in Workload if verdict(day, workload) == Go()]
    assert len(owners) == 1
