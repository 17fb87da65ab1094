"""The settings that keep a campaign apart from the night: connections, limits, process priority."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings

LONGEST_TIMEOUT = 86_400.0


class IsolationSettings(BaseSettings):
    """The isolation's part of Settings.

    `backfill_connections` is how many tasks of backfill are connected at once, whatever number of
    runs there is; each run has one connection. Its statements and locks end after the shorter of
    these limits and the general ones. `work_mem` is what one sort or hash may take before it goes
    to disk, in MiB. `backfill_nice` is what is added to the priority number of backfill's
    processes, 0 leaves it; `replica_patience_seconds` is how long a read of a window waits for the
    replica to have all that the primary has.
    """

    backfill_connections: int = Field(default=20, ge=1, le=1000)
    backfill_statement_timeout_seconds: float = Field(default=120.0, gt=0, le=LONGEST_TIMEOUT)
    backfill_lock_timeout_seconds: float = Field(default=10.0, gt=0, le=LONGEST_TIMEOUT)
    backfill_work_mem_mb: int = Field(default=16, ge=1, le=4096)
    nightly_work_mem_mb: int = Field(default=64, ge=1, le=4096)
    backfill_nice: int = Field(default=10, ge=0, le=19)
    replica_patience_seconds: float = Field(default=5.0, ge=0, le=600)
