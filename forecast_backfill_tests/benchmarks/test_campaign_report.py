"""How a sample is scaled, compared and judged."""

from __future__ import annotations

import pytest

from benchmarks.bare_copy import BareCopy
from benchmarks.campaign import CampaignFigures
from benchmarks.campaign_report import CampaignReport


def figures(
    *, batch_size: int, partitions: int, runs: int, last: float, peak_mib: float = 250.0
) -> CampaignFigures:
    """A campaign whose first commit came 20 seconds after the launch."""
    return CampaignFigures(
        batch_size=batch_size,
        partitions=partitions,
        runs=runs,
        rows=partitions * 100,
        task_seconds=partitions * 0.03,
        run_seconds=None,
        launch_to_first=20.0,
        launch_to_last=last,
        peak_mib=peak_mib,
    )


def report(*, partitions: int, last: float, peak_mib: float = 250.0) -> CampaignReport:
    """Against a sample of 41 partitions that took 1.5 s each after the first."""
    return CampaignReport(
        batched=figures(
            batch_size=30, partitions=partitions, runs=120, last=last, peak_mib=peak_mib
        ),
        single=figures(batch_size=1, partitions=41, runs=41, last=80.0),
        bare=BareCopy(rows=1, encoded_bytes=1, seconds=0.5, server_version="18.0"),
    )


def test_the_wait_for_the_first_commit_is_not_scaled() -> None:
    sample = figures(batch_size=1, partitions=41, runs=41, last=80.0)
    assert sample.seconds_for(3_601) == pytest.approx(20.0 + 3_600 * 1.5)


def test_the_ratio_compares_whole_campaigns() -> None:
    assert report(partitions=3_601, last=271.0).ratio == pytest.approx(20.0)


def test_the_rates_are_compared_from_first_to_last_commit() -> None:
    assert report(partitions=3_601, last=290.0).ratio_without_wait == pytest.approx(20.0)


def test_every_figure_that_is_reached_is_said_to_be() -> None:
    assert [each[3] for each in report(partitions=3_601, last=200.0).verdicts] == [True] * 3


def test_a_campaign_that_took_too_long_and_too_much_memory_misses_every_figure() -> None:
    found = report(partitions=3_601, last=361.0, peak_mib=501.0)
    assert [each[3] for each in found.verdicts] == [False] * 3


def test_a_memory_that_was_never_seen_does_not_pass() -> None:
    assert not report(partitions=3_601, last=200.0, peak_mib=0.0).verdicts[2][3]


def test_a_small_campaign_is_not_judged() -> None:
    text = report(partitions=24, last=50.0).as_markdown(command="make bench", machine="- a machine")
    assert "Not judged: the figures are for 3,600 partitions and more." in text
    assert "| figure |" not in text


def test_the_table_names_the_scaled_row_as_scaled() -> None:
    text = report(partitions=3_601, last=271.0).as_markdown(command="make bench", machine="- one")
    assert (
        "| one run a partition, scaled | 3,601 | 3,601 | 20.0 s | 5,420 s | 39.9 | – | – |" in text
    )
