"""How many rows a turn takes, and when it has come."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forecast_backfill.core.bucket import BucketLevel, split_into_turns

LEVEL = BucketLevel(
    taken=1_500.0, filled=1_000.0, rate=100, epoch=1, is_paused=False, reason="initial"
)


def test_a_turn_comes_when_as_many_tokens_have_come_in() -> None:
    assert LEVEL.seconds_until(1_050.0) == 0.5
    assert LEVEL.seconds_until(1_500.0) == 5.0


def test_a_turn_that_has_come_waits_for_nothing() -> None:
    assert LEVEL.seconds_until(1_000.0) == 0.0
    assert LEVEL.seconds_until(10.0) == 0.0


def test_without_a_rate_every_turn_has_come() -> None:
    free = BucketLevel(taken=9.0, filled=0.0, rate=None, epoch=1, is_paused=False, reason="initial")
    assert free.seconds_until(9.0) == 0.0


def test_a_partition_takes_turns_of_half_a_second() -> None:
    assert list(split_into_turns(120, rate=100, chunk_rows=8192)) == [50, 50, 20]


def test_a_chunk_bounds_a_turn_at_a_high_rate() -> None:
    assert list(split_into_turns(20_000, rate=1_000_000, chunk_rows=8192)) == [8192, 8192, 3616]


def test_the_lowest_rate_takes_row_by_row_and_no_row_takes_no_turn() -> None:
    assert list(split_into_turns(2, rate=1, chunk_rows=8192)) == [1, 1]
    assert list(split_into_turns(0, rate=1, chunk_rows=8192)) == []


def test_a_rate_of_nothing_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="0 rows a second"):
        list(split_into_turns(2, rate=0, chunk_rows=8192))


@given(rows=st.integers(0, 5_000), rate=st.integers(1, 10_000), chunk_rows=st.integers(1, 10_000))
def test_turns_are_all_of_the_rows_and_none_is_too_large(
    rows: int, rate: int, chunk_rows: int
) -> None:
    turns = list(split_into_turns(rows, rate=rate, chunk_rows=chunk_rows))
    assert sum(turns) == rows
    assert all(1 <= each <= max(1, min(chunk_rows, rate // 2)) for each in turns)
