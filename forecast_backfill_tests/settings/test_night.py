"""The night's settings: what is meant is taken, and what cannot be meant is refused by name."""

from __future__ import annotations

from datetime import date, time
from fractions import Fraction

import pytest

from forecast_backfill.core.errors import SettingRefused
from forecast_backfill.settings import load_settings


def test_the_default_contract_is_the_measured_one() -> None:
    contract = load_settings().contract
    assert (contract.window_days, contract.recent_days, contract.max_missing_per_region) == (
        90,
        28,
        7,
    )
    assert contract.max_missing_fraction == Fraction(2, 100)
    assert contract.max_degraded_fraction == Fraction(5, 100)
    assert contract.max_override_fraction == Fraction(10, 100)
    assert not contract.accepts_stale


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORECAST_BACKFILL_OPENING_TIME", "07:15")
    monkeypatch.setenv("FORECAST_BACKFILL_NIGHTLY_NOTICES", "json://one, json://two")
    monkeypatch.setenv("FORECAST_BACKFILL_OPENED_REGIONS", "R41=2026-11-01, R42=2026-12-01")
    monkeypatch.setenv("FORECAST_BACKFILL_MAX_MISSING_PERCENT", "1.5")
    settings = load_settings()
    assert settings.opening_time == time(7, 15)
    assert settings.nightly_notices == ("json://one", "json://two")
    assert settings.opened_regions == {"R41": date(2026, 11, 1), "R42": date(2026, 12, 1)}
    assert settings.contract.max_missing_fraction == Fraction(15, 1000)


@pytest.mark.parametrize(
    ("changes", "name", "why"),
    [
        ({"nightly_time": "02:30"}, "NIGHTLY_TIME", "lies between 01:00 and 03:00"),
        ({"opening_time": "04:00"}, "OPENING_TIME", "do not follow each other"),
        ({"cut_off_time": "05:00+02:00"}, "CUT_OFF_TIME", "without an offset"),
        ({"opened_regions": "R41"}, "OPENED_REGIONS", "is not a list such as"),
        ({"max_missing_percent": 6}, "WINDOW_DAYS", "do not rise from 0 to 1"),
        ({"window_days": 20}, "WINDOW_DAYS", "28 recent days of a window of 20"),
        ({"max_override_percent": 100}, "MAX_OVERRIDE_PERCENT", "less than 100"),
        ({"horizon_days": 15}, "HORIZON_DAYS", "less than or equal to 14"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_name(
    changes: dict[str, object], name: str, why: str
) -> None:
    with pytest.raises(SettingRefused, match=why) as refused:
        load_settings(**changes)
    assert f"FORECAST_BACKFILL_{name}" in refused.value.what
