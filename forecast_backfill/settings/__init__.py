"""Every setting, typed, frozen and read once from the environment (prefix FORECAST_BACKFILL_)."""

from __future__ import annotations

import os
import re
from datetime import date as Date
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, available_timezones

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_settings import NoDecode, SettingsConfigDict

from forecast_backfill.core.errors import SettingRefused
from forecast_backfill.settings.capacity import CapacitySettings
from forecast_backfill.settings.isolation import IsolationSettings
from forecast_backfill.settings.lakehouse import LakehouseSettings
from forecast_backfill.settings.layout import LayoutSettings
from forecast_backfill.settings.night import NightSettings
from forecast_backfill.settings.pace import PaceSettings
from forecast_backfill.settings.spark import SparkSettings

PREFIX = "FORECAST_BACKFILL_"
LONGEST_TIMEOUT = 86_400.0
REGION_PATTERN = re.compile(r"^[A-Za-z0-9_]{1,16}$")


def _default_regions() -> tuple[str, ...]:
    return tuple(f"R{number:02d}" for number in range(1, 41))


class Settings(
    NightSettings,
    CapacitySettings,
    PaceSettings,
    SparkSettings,
    IsolationSettings,
    LayoutSettings,
    LakehouseSettings,
):
    """All settings. A relative path is taken from DAGSTER_HOME, else from the working directory.

    `regions` is append-only: a region that was removed leaves its partitions without an owner.
    `batch_size` counts partitions a Dagster run; "all" puts a whole range into one run, which
    `dagster asset materialize --partition-range` asks for. `seam` None means the latest partition
    date. `slots` counts partition tasks and fits that the engine runs at once, `nightly_peak` the
    most that nightly held of them, `fit_slots` how many a fit takes. What a campaign replaced has
    been kept long enough after `superseded_days`.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="ignore", validate_default=True
    )

    home: Path = Path(".forecast_backfill")
    database_url: str | None = None
    landing: Path | None = None
    dagster_url: str = "http://127.0.0.1:3000"
    regions: Annotated[tuple[str, ...], NoDecode] = Field(default_factory=_default_regions)
    time_zone: str = "America/New_York"
    first_date: Date = Date(2026, 1, 1)
    as_of: Date | None = None
    seam: Date | None = None
    batch_size: Annotated[int, Field(ge=1, le=10_000)] | Literal["all"] = 30
    slots: int = Field(default=4, ge=1, le=1000)
    nightly_peak: int = Field(default=2, ge=0)
    fit_slots: int = Field(default=1, ge=1)
    lock_timeout_seconds: float = Field(default=30.0, gt=0, le=LONGEST_TIMEOUT)
    statement_timeout_seconds: float = Field(default=120.0, gt=0, le=LONGEST_TIMEOUT)
    idle_in_transaction_timeout_seconds: float = Field(default=60.0, gt=0, le=LONGEST_TIMEOUT)
    superseded_days: int = Field(default=30, ge=1, le=3650)

    @field_validator("home", "landing", "lakehouse")
    @classmethod
    def _anchor(cls, value: Path | None) -> Path | None:
        # Dagster's processes need not run in one directory, but they share DAGSTER_HOME. The
        # default counts too: validate_default is on.
        if value is None:
            return None
        return Path(os.environ.get("DAGSTER_HOME") or Path.cwd()) / value.expanduser()

    @field_validator("dagster_url")
    @classmethod
    def _check_dagster_url(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("is not an address such as http://127.0.0.1:3000")
        _ = parts.port  # raises ValueError where it is no number
        return value

    @field_validator("regions", mode="before")
    @classmethod
    def _split_regions(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("regions")
    @classmethod
    def _check_regions(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value:
            raise ValueError("names no region")
        bad = [name for name in value if not REGION_PATTERN.match(name)]
        if bad:
            raise ValueError(f"{bad[0]!r} is not 1 to 16 letters, digits or underscores")
        if len(set(value)) != len(value):
            raise ValueError("names a region twice")
        return value

    @field_validator("time_zone")
    @classmethod
    def _check_time_zone(cls, value: str) -> str:
        if value not in available_timezones():
            raise ValueError("is not an IANA time zone such as America/New_York")
        return value

    @model_validator(mode="after")
    def _check_peak(self) -> Self:
        if self.nightly_peak > self.slots:
            raise ValueError(
                f"nightly_peak {self.nightly_peak} is more than slots {self.slots}; "
                "backfill would never run"
            )
        if self.fit_slots > self.slots:
            raise ValueError(f"fit_slots {self.fit_slots} is more than slots {self.slots}")
        return self

    @property
    def zone(self) -> ZoneInfo:
        """The chain's time zone, in which a business date is decided."""
        return ZoneInfo(self.time_zone)

    @property
    def lakehouse_directory(self) -> Path:
        """Where the Delta tables lie: `<home>/lakehouse` unless set."""
        return self.lakehouse if self.lakehouse is not None else self.home / "lakehouse"

    @property
    def landing_directory(self) -> Path:
        """Where the retailer lands files: `<home>/landing` unless set."""
        return self.landing if self.landing is not None else self.home / "landing"


def load_settings(**overrides: Any) -> Settings:
    """Read the settings from the environment; `overrides` win over it.

    Raises SettingRefused that names the setting, its value and the remedy.
    """
    try:
        return Settings(**overrides)
    except ValidationError as error:
        first = error.errors()[0]
        name = PREFIX + "_".join(str(part) for part in first["loc"][:1]).upper()
        if not first["loc"]:
            name = f"{PREFIX}NIGHTLY_PEAK"
        value = first.get("input")
        shown = "" if isinstance(value, dict) else f"={value!r}"
        raise SettingRefused(
            f"the setting {name}{shown} was refused",
            why=first["msg"].removeprefix("Value error, "),
            next_command=f"export {name}=… with a value that fits (docs/settings.md), or unset it",
        ) from error
