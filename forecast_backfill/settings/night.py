"""The settings of the night: model, completeness contract, times of day and notices."""

from __future__ import annotations

from datetime import date as Date
from datetime import time as Time
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any

from pydantic import Field, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode

from forecast_backfill.core.completeness import CompletenessContract

Percent = Annotated[Decimal, Field(ge=0, lt=100)]
CLOCKS_CHANGE = (Time(1), Time(3))
"""No nightly time lies here: a clock change would skip it or have it twice."""


class NightSettings(BaseSettings):
    """The night's part of Settings. Times are local to the chain.

    `nightly_time` starts the night; a partition waits for its manifest until `cut_off_time`;
    forecasts are due at `opening_time`, and `deadline_warning_minutes` before it a late night is
    told of. `opened_regions` (R41=2026-11-01,R42=…) has the first date of regions that came later:
    before it nothing is expected of them. The percents are limits of missing partitions: up to the
    first a window is accepted, to the second marked degraded, to the third a named person decides.
    `look_seconds` is how often the sensors look for what is to be done next.
    `nightly_notices` and `backfill_notices` are Apprise URLs, with spaces or commas between them.
    """

    seed: int = Field(default=20171225, ge=0, lt=2**31)
    horizon_days: int = Field(default=14, ge=1, le=14)
    nightly_time: Time = Time(3, 30)
    cut_off_time: Time = Time(5, 0)
    opening_time: Time = Time(6, 0)
    deadline_warning_minutes: int = Field(default=45, ge=1, le=720)
    look_seconds: int = Field(default=15, ge=1, le=600)
    nightly_notices: Annotated[tuple[str, ...], NoDecode] = ()
    backfill_notices: Annotated[tuple[str, ...], NoDecode] = ()
    opened_regions: Annotated[dict[str, Date], NoDecode] = Field(default_factory=dict)
    max_missing_percent: Percent = Decimal(2)
    max_degraded_percent: Percent = Decimal(5)
    max_override_percent: Percent = Decimal(10)
    recent_days: int = Field(default=28, ge=1)
    max_missing_per_region: int = Field(default=7, ge=0)
    max_missing_per_date: int | None = Field(default=None, ge=0)
    must_have_last_days: int = Field(default=1, ge=0)
    accepts_stale: bool = False
    window_days: int = Field(default=90, ge=1)

    @field_validator("nightly_notices", "backfill_notices", mode="before")
    @classmethod
    def _split_targets(cls, value: Any) -> Any:
        return tuple(value.replace(",", " ").split()) if isinstance(value, str) else value

    @field_validator("opened_regions", mode="before")
    @classmethod
    def _split_opened(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        parts = [part.strip() for part in value.split(",") if part.strip()]
        if any("=" not in part for part in parts):
            raise ValueError("is not a list such as R41=2026-11-01,R42=2026-12-01")
        return dict(part.split("=", 1) for part in parts)

    @field_validator("nightly_time", "cut_off_time", "opening_time")
    @classmethod
    def _check_time(cls, value: Time) -> Time:
        if value.tzinfo is not None:
            raise ValueError("is a local time, without an offset")
        if CLOCKS_CHANGE[0] <= value < CLOCKS_CHANGE[1]:
            raise ValueError("lies between 01:00 and 03:00, where a clock change skips or doubles")
        return value

    @field_validator("opening_time")
    @classmethod
    def _check_order(cls, value: Time, info: ValidationInfo) -> Time:
        times = [info.data.get("nightly_time"), info.data.get("cut_off_time"), value]
        known = [each for each in times if each is not None]
        if known != sorted(set(known)):
            raise ValueError("nightly_time, cut_off_time and opening_time do not follow each other")
        return value

    @field_validator("window_days")
    @classmethod
    def _check_contract(cls, value: int, info: ValidationInfo) -> int:
        if len(info.data.keys() & _CONTRACT_FIELDS) == len(_CONTRACT_FIELDS):
            _build_contract(value, info.data)
        return value

    @property
    def contract(self) -> CompletenessContract:
        """What a training window must hold."""
        return _build_contract(self.window_days, self.model_dump())


_CONTRACT_FIELDS = {
    "max_missing_percent",
    "max_degraded_percent",
    "max_override_percent",
    "recent_days",
    "max_missing_per_region",
    "max_missing_per_date",
    "must_have_last_days",
    "accepts_stale",
}


def _build_contract(window_days: int, values: dict[str, Any]) -> CompletenessContract:
    return CompletenessContract(
        window_days=window_days,
        max_missing_fraction=Fraction(values["max_missing_percent"]) / 100,
        max_degraded_fraction=Fraction(values["max_degraded_percent"]) / 100,
        max_override_fraction=Fraction(values["max_override_percent"]) / 100,
        recent_days=values["recent_days"],
        max_missing_per_region=values["max_missing_per_region"],
        max_missing_per_date=values["max_missing_per_date"],
        must_have_last_days=values["must_have_last_days"],
        accepts_stale=values["accepts_stale"],
    )
