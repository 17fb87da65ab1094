"""The guard between the run's tags and the partitions that the run would process."""

from __future__ import annotations

from datetime import date

import pytest
from dagster import (
    DailyPartitionsDefinition,
    MultiPartitionsDefinition,
    StaticPartitionsDefinition,
)

from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import Workload
from forecast_backfill.core.version import Winner
from forecast_backfill.dagster_defs.batch import BatchRefused, batch_of, winner_of, workload_of

DEFINITION = MultiPartitionsDefinition(
    {
        "date": DailyPartitionsDefinition(start_date="2026-03-01", end_date="2026-03-04"),
        "region": StaticPartitionsDefinition(["R01", "R02"]),
    }
)
START = "dagster/asset_partition_range_start"
END = "dagster/asset_partition_range_end"
SINGLE = "dagster/partition"


def test_a_range_of_dates_and_regions_is_taken_by_date_and_then_by_region() -> None:
    batch = batch_of(
        {START: "2026-03-01|R01", END: "2026-03-02|R02"},
        ["2026-03-01|R01", "2026-03-02|R01", "2026-03-01|R02", "2026-03-02|R02"],
        DEFINITION,
    )
    assert batch == [
        Partition(date=date(2026, 3, 1), region="R01"),
        Partition(date=date(2026, 3, 1), region="R02"),
        Partition(date=date(2026, 3, 2), region="R01"),
        Partition(date=date(2026, 3, 2), region="R02"),
    ]


def test_a_single_partition_is_taken() -> None:
    batch = batch_of({SINGLE: "2026-03-03|R02"}, ["2026-03-03|R02"], DEFINITION)
    assert batch == [Partition(date=date(2026, 3, 3), region="R02")]


def test_keys_that_differ_from_the_range_in_the_tags_are_refused() -> None:
    with pytest.raises(BatchRefused, match=r"its tags name 2 partitions .* would process 1"):
        batch_of({START: "2026-03-01|R01", END: "2026-03-01|R02"}, ["2026-03-01|R01"], DEFINITION)


def test_as_many_but_other_keys_than_the_range_are_refused() -> None:
    with pytest.raises(BatchRefused, match="would process 2"):
        batch_of(
            {START: "2026-03-01|R01", END: "2026-03-01|R02"},
            ["2026-03-02|R01", "2026-03-02|R02"],
            DEFINITION,
        )


def test_a_range_and_a_single_partition_at_once_are_refused() -> None:
    tags = {START: "2026-03-01|R01", END: "2026-03-01|R01", SINGLE: "2026-03-01|R01"}
    with pytest.raises(BatchRefused, match="a range and the single partition"):
        batch_of(tags, ["2026-03-01|R01"], DEFINITION)


def test_a_run_without_partitions_is_refused() -> None:
    with pytest.raises(BatchRefused, match="names no partition"):
        batch_of({SINGLE: "2026-03-01|R01"}, [], DEFINITION)


def test_a_run_without_partition_tags_is_refused() -> None:
    with pytest.raises(BatchRefused, match="neither a partition nor a range"):
        batch_of({}, ["2026-03-01|R01"], DEFINITION)


def test_half_a_range_is_refused() -> None:
    with pytest.raises(BatchRefused, match="only one end"):
        batch_of({START: "2026-03-01|R01"}, ["2026-03-01|R01"], DEFINITION)


def test_an_inverted_range_is_refused() -> None:
    with pytest.raises(BatchRefused, match="holds no partition"):
        batch_of({START: "2026-03-02|R01", END: "2026-03-01|R01"}, ["2026-03-01|R01"], DEFINITION)


@pytest.mark.parametrize(
    ("tags", "workload"),
    [
        ({}, Workload.BACKFILL),
        ({"forecast_backfill/workload": "backfill"}, Workload.BACKFILL),
        ({"forecast_backfill/workload": "nightly"}, Workload.NIGHTLY),
        ({"forecast_backfill/workload": "Nightly"}, Workload.BACKFILL),
    ],
)
def test_only_a_run_that_says_so_is_nightly(tags: dict[str, str], workload: Workload) -> None:
    assert workload_of(tags) is workload


OVERLAP = {"forecast_backfill/overlap": "true"}
WINNER = "forecast_backfill/winner"


@pytest.mark.parametrize(
    ("tags", "winner"),
    [
        ({}, None),
        (OVERLAP, Winner.LIVE),
        (OVERLAP | {WINNER: "live"}, Winner.LIVE),
        (OVERLAP | {WINNER: "correction"}, Winner.CORRECTION),
    ],
)
def test_the_tags_of_an_overlap_say_who_wins(tags: dict[str, str], winner: Winner | None) -> None:
    assert winner_of(tags) is winner


def test_an_unknown_winner_is_refused() -> None:
    with pytest.raises(BatchRefused, match="may be live or correction"):
        winner_of(OVERLAP | {WINNER: "newest"})


def test_a_nightly_run_cannot_overlap() -> None:
    with pytest.raises(BatchRefused, match="nightly is always live"):
        winner_of(OVERLAP | {"forecast_backfill/workload": "nightly"})
