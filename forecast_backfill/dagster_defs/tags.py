"""The run tags that this project reads and writes; loads nothing."""

from __future__ import annotations

WORKLOAD_TAG = "forecast_backfill/workload"
REPROCESS_TAG = "forecast_backfill/reprocess"
OVERLAP_TAG = "forecast_backfill/overlap"
WINNER_TAG = "forecast_backfill/winner"
LAUNCHED_BY_TAG = "forecast_backfill/launched_by"
LAUNCH_TAG = "forecast_backfill/launch"
MACHINE_TAG = ".dagster/forecast_backfill/machine"
"""Begins as Dagster's own hidden tags do: no reader of the UI needs it."""
BACKFILL_ID_TAG = "dagster/backfill"
PRIORITY_TAG = "dagster/priority"
RANGE_START_TAG = "dagster/asset_partition_range_start"
RANGE_END_TAG = "dagster/asset_partition_range_end"
SINGLE_PARTITION_TAG = "dagster/partition"

PLANNER = "planner"
"""What `launched_by` says of runs that a schedule or sensor of this project has launched."""

NIGHTLY_PRIORITY = "10"
BACKFILL_PRIORITY = "-10"
