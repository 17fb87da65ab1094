"""Counts, rate and time left of a campaign, as an operator reads them."""

from __future__ import annotations

import dataclasses

from forecast_backfill.cli.progress_text import as_fields, clock, describe, is_done
from forecast_backfill.warehouse.campaigns import CampaignProgress

HALFWAY = CampaignProgress(
    campaign_id="abcd",
    requested=100,
    done=40,
    unchanged=5,
    quarantined=3,
    refused=1,
    mismatched=1,
    failed=0,
    running=2,
    left=50,
    first_event_at=None,
    last_event_at=None,
    rate=100.0,
    eta_seconds=30.0,
)


def test_progress_is_one_line_with_counts_rate_and_time_left() -> None:
    assert describe(HALFWAY) == (
        "45/100 done · 3 quarantined · 2 failed · 50 left · 100/min · ETA 0:30"
    )


def test_an_unknown_time_left_is_a_dash() -> None:
    assert describe(dataclasses.replace(HALFWAY, eta_seconds=None)).endswith("ETA –")


def test_a_campaign_with_a_quarantined_partition_is_not_done_though_nothing_is_left() -> None:
    assert not is_done(dataclasses.replace(HALFWAY, done=94, unchanged=5, left=0, quarantined=1))


def test_unchanged_partitions_count_as_done() -> None:
    assert is_done(dataclasses.replace(HALFWAY, done=60, unchanged=40, left=0))


def test_a_campaign_of_which_nothing_is_known_is_not_done() -> None:
    assert not is_done(dataclasses.replace(HALFWAY, requested=0, done=0, unchanged=0, left=0))


def test_times_are_shown_as_minutes_or_hours() -> None:
    assert [clock(5), clock(61), clock(3661)] == ["0:05", "1:01", "1:01:01"]


def test_the_fields_count_unchanged_among_the_done() -> None:
    fields = as_fields(HALFWAY)
    assert (fields["done"], fields["written"], fields["unchanged"]) == (45, 40, 5)
