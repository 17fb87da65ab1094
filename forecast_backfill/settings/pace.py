"""The settings of the pace: how often to look, where the replica is, and from when on it hurts."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode

from forecast_backfill.core.signal import Thresholds

Limits = tuple[float, float, float]


class PaceSettings(BaseSettings):
    """The pace's part of Settings.

    `pace_seconds` is how often the signals are looked at while a campaign runs, and
    `pace_timeout_seconds` how long each of them may take. `replica_url` is the replica whose lag
    counts; None looks at what replicates from the primary. `pace_thresholds` has half, pause and
    trip of a signal (replication_lag=5/30/120,wal_rate=off); red for `pace_trip_minutes` trips.
    """

    replica_url: str | None = None
    pace_seconds: float = Field(default=2.0, ge=0.1, le=5)
    pace_timeout_seconds: float = Field(default=2.0, ge=0.1, le=30)
    pace_trip_minutes: float = Field(default=5.0, gt=0, le=1440)
    pace_thresholds: Annotated[dict[str, Limits | None], NoDecode] = Field(default_factory=dict)

    @field_validator("pace_thresholds", mode="before")
    @classmethod
    def _split_thresholds(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        parts = [part.strip() for part in value.replace(",", " ").split()]
        if any("=" not in part for part in parts):
            raise ValueError("is not a list such as replication_lag=5/30/120,wal_rate=off")
        pairs = (part.split("=", 1) for part in parts)
        return {name: None if text == "off" else tuple(text.split("/")) for name, text in pairs}

    @field_validator("pace_thresholds")
    @classmethod
    def _check_thresholds(cls, value: dict[str, Limits | None]) -> dict[str, Limits | None]:
        for half, pause, trip in filter(None, value.values()):
            Thresholds(half=half, pause=pause, trip=trip)
        return value
