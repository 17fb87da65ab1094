"""Counts, rate and time left of a campaign."""

from __future__ import annotations

import dataclasses

from forecast_backfill.app.progress import CampaignProgress, clock, describe

HALFWAY = CampaignProgress(
    campaign_id="abcd",
    partitions=100,
    written=40,
    unchanged=5,
    quarantined=3,
    failed=2,
    seconds=30.0,
)


def test_progress_is_one_line_with_counts_rate_and_time_left() -> None:
    assert describe(HALFWAY) == (
        "45/100 done · 3 quarantined · 2 failed · 50 left · 100/min · ETA 0:30"
    )


def test_a_campaign_that_has_tried_nothing_knows_no_time_left() -> None:
    fresh = dataclasses.replace(
        HALFWAY, written=0, unchanged=0, quarantined=0, failed=0, seconds=5.0
    )
    assert fresh.eta_seconds is None
    assert describe(fresh).endswith("0/min · ETA –")


def test_a_campaign_with_a_quarantined_partition_is_not_done_though_nothing_is_left() -> None:
    ended = dataclasses.replace(HALFWAY, written=94, quarantined=1, failed=0)
    assert (ended.left, ended.is_done, ended.eta_seconds) == (0, False, 0.0)


def test_unchanged_partitions_count_as_done() -> None:
    assert dataclasses.replace(HALFWAY, written=60, unchanged=40, quarantined=0, failed=0).is_done


def test_times_are_shown_as_minutes_or_hours() -> None:
    assert [clock(5), clock(61), clock(3661)] == ["0:05", "1:01", "1:01:01"]
