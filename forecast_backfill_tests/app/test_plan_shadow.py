"""What a campaign fills of a shadow, and what is filled beside it."""

from __future__ import annotations

from datetime import date, timedelta

from forecast_backfill.app.campaign import PartitionSpan
from forecast_backfill.app.plan_shadow import plan_fill
from forecast_backfill.core.calendar import Calendar
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.shadow_check import DuePartition

FIRST = date(2026, 11, 1)
KNOWN = ("R01", "R02", "R03", "R04")
CALENDAR = Calendar(
    first_date=FIRST, latest_date=FIRST + timedelta(days=9), seam=FIRST + timedelta(days=8)
)


def at(day: int, region: str) -> Partition:
    return Partition(date=FIRST + timedelta(days=day), region=region)


def due(partition: Partition, *, is_done: bool = True) -> DuePartition:
    return DuePartition(partition=partition, rows=1, is_done=is_done, reason="x")


def span(first: Partition, last: Partition) -> PartitionSpan:
    return PartitionSpan(first=first, last=last)


def test_dates_in_a_row_with_the_same_regions_are_one_rectangle() -> None:
    chosen = [at(day, region) for day in (0, 1, 3) for region in ("R01", "R02", "R04")]
    plan = plan_fill(map(due, chosen), shadow_id=3, calendar=CALENDAR, known=KNOWN)
    assert plan.launch is not None
    assert set(plan.launch.spans) == {
        span(at(0, "R01"), at(1, "R02")), span(at(0, "R04"), at(1, "R04")),
        span(at(3, "R01"), at(3, "R02")), span(at(3, "R04"), at(3, "R04")),
    }  # fmt: skip
    assert (plan.launch.partitions, plan.launch.title) == (9, "shadow 3: 9 partitions")
    assert plan.beside == ()


def test_what_no_campaign_comes_to_is_filled_beside_it() -> None:
    others = [
        due(at(8, "R01")), due(at(0, "R09")), due(at(-1, "R01")), due(at(2, "R01"), is_done=False),
    ]  # fmt: skip
    plan = plan_fill([*others, due(at(1, "R01"))], shadow_id=1, calendar=CALENDAR, known=KNOWN)
    assert plan.beside == tuple(others)
    assert plan.launch is not None
    assert plan.launch.spans == (span(at(1, "R01"), at(1, "R01")),)


def test_nothing_for_a_campaign_launches_none() -> None:
    assert plan_fill([], shadow_id=1, calendar=CALENDAR, known=KNOWN).launch is None
