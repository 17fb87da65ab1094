"""The settings of the pace are read as they are written, and refused where they cannot be meant."""

from __future__ import annotations

from datetime import timedelta

import pytest

from forecast_backfill.core.errors import SettingRefused
from forecast_backfill.settings import load_settings
from forecast_backfill.wiring.pace import pace_rules


def test_without_settings_the_pace_is_looked_at_every_two_seconds_and_trips_after_five_minutes():
    rules = pace_rules(load_settings())
    assert rules.interval == timedelta(seconds=2)
    assert rules.pressure.trip_after == timedelta(minutes=5)
    assert rules.stale_after == timedelta(seconds=11)


def test_thresholds_are_a_list_of_signals(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(
        "FORECAST_BACKFILL_PACE_THRESHOLDS", "replication_lag=5/30/120, wal_rate=off"
    )
    assert load_settings().pace_thresholds == {
        "replication_lag": (5.0, 30.0, 120.0),
        "wal_rate": None,
    }


@pytest.mark.parametrize("value", ["replication_lag", "wal_rate=1/2", "wal_rate=3/2/1", "x=a/b/c"])
def test_thresholds_that_cannot_be_meant_are_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, value: str
):
    monkeypatch.setenv("FORECAST_BACKFILL_PACE_THRESHOLDS", value)
    with pytest.raises(SettingRefused, match="FORECAST_BACKFILL_PACE_THRESHOLDS"):
        load_settings()
