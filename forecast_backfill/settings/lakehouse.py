"""The settings of the warehouse: PostgreSQL or a lakehouse, and where that is."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from pydantic import field_validator
from pydantic_settings import BaseSettings


class WarehouseKind(StrEnum):
    """Where the rows of `daily_demand` go; ledger and all else stay in PostgreSQL."""

    POSTGRES = "postgres"
    DELTA = "delta"


class LakehouseSettings(BaseSettings):
    """The warehouse's part of Settings.

    `lakehouse` is the folder that holds the Delta tables, under one path for every worker; None
    means `<home>/lakehouse`.
    """

    warehouse: WarehouseKind = WarehouseKind.POSTGRES
    lakehouse: Path | None = None

    @field_validator("lakehouse", mode="after")
    @classmethod
    def _check_lakehouse(cls, value: Path | None) -> Path | None:
        # The reader would take them for patterns of names.
        if value is not None and set("*?[") & set(str(value)):
            raise ValueError("holds one of the characters * ? [")
        return value

    @property
    def is_lakehouse(self) -> bool:
        """Whether rows go to the lakehouse."""
        return self.warehouse is WarehouseKind.DELTA
