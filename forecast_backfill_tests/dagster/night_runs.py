"""Runs of the night's assets in process, over a chain that nights.py has filled."""

from __future__ import annotations

from dagster import (
    AssetKey,
    AssetMaterialization,
    DagsterInstance,
    ExecuteInProcessResult,
)

from forecast_backfill.dagster_defs.assembly import build_definitions
from forecast_backfill.settings import Settings

START = "dagster/asset_partition_range_start"
END = "dagster/asset_partition_range_end"
NIGHTLY = {"forecast_backfill/workload": "nightly"}


def run_assets(
    settings: Settings,
    instance: DagsterInstance,
    names: list[str],
    *,
    day: object = None,
    ends: tuple[object, object] | None = None,
    tags: dict[str, str] | None = None,
) -> ExecuteInProcessResult:
    """Materialize the named assets for one partition or a range; the result, also of a failure."""
    given = dict(tags or NIGHTLY)
    if ends is not None:
        given |= {START: str(ends[0]), END: str(ends[1])}
    job = build_definitions(settings).resolve_implicit_global_asset_job_def()
    return job.execute_in_process(
        asset_selection=[AssetKey(name) for name in names],
        instance=instance,
        tags=given,
        partition_key=None if day is None else str(day),
        raise_on_error=False,
    )


def told(instance: DagsterInstance, name: str) -> dict[str, AssetMaterialization]:
    """The last materialization of each partition of an asset."""
    found: dict[str, AssetMaterialization] = {}
    records = instance.fetch_materializations(AssetKey(name), limit=5000).records
    for record in reversed(records):
        found[str(record.partition_key)] = record.asset_materialization
    return found


def failure_of(result: ExecuteInProcessResult) -> str:
    """The words with which a step failed."""
    event = next(each for each in result.all_events if each.is_step_failure)
    data = event.step_failure_data
    user = data.user_failure_data
    return str(data.error.message if user is None else user.description)
