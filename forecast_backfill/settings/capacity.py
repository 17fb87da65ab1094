"""The settings of the cap: headroom, nights measured, when slots are held, and allowed hours."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode

from forecast_backfill.core.off_peak import OffPeakHours, parse_hours


class Reservation(StrEnum):
    """When nightly's peak is held: at all hours, or only by night as recent nights needed it."""

    ALWAYS = "always"
    NIGHT = "night"


class CapacitySettings(BaseSettings):
    """The cap's part of Settings.

    `headroom` slots stay free beside the nightly peak. `capacity_nights` is how many nights on
    record are measured. `reservation` says when the peak is held; by `night` from
    `hold_lead_minutes` before the night's begin to its end. `backfill_hours` are local hours in
    which backfill may run, such as "Mon-Fri 20:00-06:00, Sat-Sun 00:00-24:00"; none means always.
    """

    headroom: int = Field(default=0, ge=0, le=1000)
    capacity_nights: int = Field(default=14, ge=1, le=365)
    reservation: Reservation = Reservation.ALWAYS
    hold_lead_minutes: int = Field(default=15, ge=0, le=720)
    backfill_hours: Annotated[tuple[OffPeakHours, ...], NoDecode] = ()

    @field_validator("backfill_hours", mode="before")
    @classmethod
    def _parse_hours(cls, value: Any) -> Any:
        return parse_hours(value) if isinstance(value, str) else value

    @property
    def hold_lead(self) -> timedelta:
        """How long before the night begins its slots are held."""
        return timedelta(minutes=self.hold_lead_minutes)
