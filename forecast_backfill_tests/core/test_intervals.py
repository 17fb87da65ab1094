"""Versions of one key neither overlap nor gap; the verdict names key and dates."""

from __future__ import annotations

from datetime import date as Date
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forecast_backfill.core.intervals import (
    Coherent,
    Incoherent,
    Interval,
    IntervalFaultKind,
    judge_intervals,
)

MONDAY = Date(2026, 11, 2)
WEEK = timedelta(weeks=1)
days = st.integers(0, 12).map(lambda number: MONDAY + timedelta(days=number))
ends = st.none() | days
intervals = st.builds(Interval, key=st.sampled_from("ab"), start=ends, end=ends)
EVERY_DAY = [MONDAY + timedelta(days=number) for number in range(-2, 15)]


def _version(key: str, start: Date | None, end: Date | None) -> Interval:
    return Interval(key=key, start=start, end=end)


def test_versions_that_follow_each_other_are_coherent():
    found = judge_intervals(
        [_version("7", MONDAY, None), _version("7", None, MONDAY), _version("8", MONDAY, None)],
        gapless=True,
    )
    assert found == Coherent(keys=2, versions=3)


def test_an_overlap_is_named_with_key_and_dates():
    found = judge_intervals(
        [_version("7", MONDAY, MONDAY + 2 * WEEK), _version("7", MONDAY + WEEK, None)],
        gapless=False,
    )
    assert isinstance(found, Incoherent)
    assert found.reason == "two versions of 7 hold on [2026-11-09, 2026-11-16)"


def test_a_gap_is_named_with_key_and_dates():
    versions = [_version("7", None, MONDAY), _version("7", MONDAY + WEEK, None)]
    found = judge_intervals(versions, gapless=True)
    assert isinstance(found, Incoherent)
    assert found.reason == (
        "no version of 7 holds on [2026-11-02, 2026-11-09), though others do around it"
    )


def test_a_gap_is_allowed_where_the_dimension_may_have_one():
    versions = [_version("7", None, MONDAY), _version("7", MONDAY + WEEK, None)]
    assert judge_intervals(versions, gapless=False) == Coherent(keys=1, versions=2)


def test_a_version_without_a_date_is_refused():
    found = judge_intervals([_version("7", MONDAY, MONDAY)], gapless=False)
    assert isinstance(found, Incoherent)
    assert found.reason == "the version [2026-11-02, 2026-11-02) of 7 holds no date"


def test_a_version_inside_a_longer_one_is_an_overlap_though_a_third_lies_between():
    found = judge_intervals(
        [
            _version("7", MONDAY, None),
            _version("7", MONDAY + WEEK, MONDAY + 2 * WEEK),
            _version("7", MONDAY + 3 * WEEK, MONDAY + 4 * WEEK),
        ],
        gapless=True,
    )
    assert isinstance(found, Incoherent)
    assert [fault.kind for fault in found.faults] == [IntervalFaultKind.OVERLAP] * 2
    assert found.reason == "two versions of 7 hold on [2026-11-09, 2026-11-16), and 1 more"


def test_a_verdict_without_a_fault_cannot_be_negative():
    with pytest.raises(ValueError, match="0 faults listed of 0"):
        Incoherent(faults=(), total=0)


@given(st.lists(intervals, max_size=6))
def test_coherent_means_one_version_at_most_on_any_date(versions: list[Interval]):
    """Counted day by day, by another way than the judgement's."""
    found = judge_intervals(versions, gapless=False)
    is_empty = any(not any(day in each for day in EVERY_DAY) for each in versions)
    most = max(
        (
            sum(each.key == key and day in each for each in versions)
            for key in "ab"
            for day in EVERY_DAY
        ),
        default=0,
    )
    assert isinstance(found, Coherent) == (most <= 1 and not is_empty)


@given(st.lists(intervals, min_size=1, max_size=6))
def test_gapless_means_that_the_dates_of_a_key_are_in_one_piece(versions: list[Interval]):
    if not isinstance(judge_intervals(versions, gapless=False), Coherent):
        return
    is_whole = True
    for key in "ab":
        held = [any(each.key == key and day in each for each in versions) for day in EVERY_DAY]
        first_to_last = "".join("x" if each else " " for each in held).strip()
        is_whole &= " " not in first_to_last
    assert isinstance(judge_intervals(versions, gapless=True), Coherent) == is_whole


@given(st.lists(intervals, max_size=6), st.randoms(use_true_random=False))
def test_the_order_in_which_versions_are_given_does_not_matter(versions, random):
    shuffled = list(versions)
    random.shuffle(shuffled)
    first, second = (judge_intervals(each, gapless=True) for each in (versions, shuffled))
    assert isinstance(first, Coherent) == isinstance(second, Coherent)


@given(st.lists(intervals, max_size=6))
def test_every_fault_is_of_a_key_that_was_given(versions: list[Interval]):
    found = judge_intervals(versions, gapless=True)
    if isinstance(found, Incoherent):
        assert {fault.key for fault in found.faults} <= {each.key for each in versions}
