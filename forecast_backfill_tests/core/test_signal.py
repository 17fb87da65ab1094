"""Thresholds and readings refuse what cannot be meant."""

from __future__ import annotations

import pytest

from forecast_backfill.core.signal import DEFAULT_THRESHOLDS, Measured, Thresholds


def test_replication_lag_halves_at_5_pauses_at_30_and_turns_red_at_120_seconds():
    lag = DEFAULT_THRESHOLDS["replication_lag"]
    assert (lag.half, lag.pause, lag.trip, lag.unit) == (5, 30, 120, "s")


@pytest.mark.parametrize(
    ("half", "pause", "trip"),
    [(0, 1, 2), (2, 1, 3), (1, 3, 2), (1, 1, 1), (1, float("nan"), 2), (1, 2, float("inf"))],
)
def test_thresholds_that_do_not_rise_are_refused(half: float, pause: float, trip: float):
    with pytest.raises(ValueError, match="thresholds"):
        Thresholds(half=half, pause=pause, trip=trip)


def test_a_value_that_is_no_number_is_not_measured():
    with pytest.raises(ValueError, match="nan"):
        Measured(value=float("nan"))


@pytest.mark.parametrize(
    ("unit", "value", "shown"),
    [("s", 1.5, "1.50 s"), ("s", 45.2, "45 s"), ("", 0.853, "85%"), ("B/s", 60e6, "60.0 MB/s")],
)
def test_a_value_is_shown_with_its_unit(unit: str, value: float, shown: str):
    assert Thresholds(half=1, pause=2, trip=3, unit=unit).show(value) == shown
