"""The settings of the engine: this process or Spark, where Spark is, and how much of it."""

from __future__ import annotations

import re
from enum import StrEnum

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings

_MASTER = re.compile(
    r"local(\[(\*|[1-9][0-9]*)\])?|spark://[^/:,\s]+:[0-9]+(,[^/:,\s]+:[0-9]+)*|sc://[^/\s]+(/\S*)?"
)


class EngineKind(StrEnum):
    """What runs the partitions of a batch."""

    PANDAS = "pandas"
    SPARK = "spark"


class SparkSettings(BaseSettings):
    """The engine's part of Settings.

    `spark_master` is `local[N]` (in this machine), `spark://host:port` (a standalone cluster) or
    `sc://host:port` (a Spark Connect server). `spark_pool` is the FAIR scheduler's pool, None means
    that of the workload's name. `spark_max_cores` bounds what a batch takes; None means the slots
    that its workload may hold: the cap for backfill, all of them for nightly. A delivery in parts
    with at least `spark_spread_lines` lines is spread over many executors; a
    window with at least `spark_window_partitions` partitions is read by them, None means never.
    """

    engine: EngineKind = EngineKind.PANDAS
    spark_master: str = "local[2]"
    spark_pool: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_.-]{1,64}$")
    spark_max_cores: int | None = Field(default=None, ge=1, le=10_000)
    spark_spread_lines: int = Field(default=5_000_000, ge=1)
    spark_window_partitions: int | None = Field(default=None, ge=1)

    @field_validator("spark_master")
    @classmethod
    def _check_master(cls, value: str) -> str:
        if _MASTER.fullmatch(value) is None:
            raise ValueError("is none of local[N], spark://host:port and sc://host:port")
        return value

    @property
    def is_spark_connect(self) -> bool:
        """Whether Spark is a Connect server."""
        return self.spark_master.startswith("sc://")
