"""The tags that decide how the queue treats a run."""

from __future__ import annotations

from forecast_backfill.dagster_defs.run_queue import missing_tags


def test_a_run_that_says_nothing_counts_as_backfill_and_yields() -> None:
    assert missing_tags({}) == {
        "forecast_backfill/workload": "backfill",
        "dagster/priority": "-10",
    }


def test_a_nightly_run_goes_first() -> None:
    assert missing_tags({"forecast_backfill/workload": "nightly"}) == {"dagster/priority": "10"}


def test_a_priority_that_was_asked_for_is_left_alone() -> None:
    tags = {"forecast_backfill/workload": "backfill", "dagster/priority": "3"}
    assert missing_tags(tags) == {}
