"""Between plans and Dagster: which planned runs there were, and a plan's launches as requests."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from dagster import (
    AssetKey,
    AssetSelection,
    DagsterInstance,
    DagsterRunStatus,
    RunRequest,
    RunsFilter,
)
from dagster._core.execution.backfill import BulkActionsFilter, BulkActionStatus

from forecast_backfill.core.night_state import Launch, PastLaunch, PastLaunches, Plan, Stage
from forecast_backfill.core.states import Workload
from forecast_backfill.dagster_defs.events import DAILY_DEMAND
from forecast_backfill.dagster_defs.forecast_events import DEMAND_FORECAST, FORECAST_ACCURACY
from forecast_backfill.dagster_defs.night_assets import (
    DEMAND_MODEL,
    DEMAND_SEAL,
    TRAINING_WINDOW,
)
from forecast_backfill.dagster_defs.partition_keys import format_key
from forecast_backfill.dagster_defs.tags import (
    BACKFILL_PRIORITY,
    LAUNCH_TAG,
    LAUNCHED_BY_TAG,
    NIGHTLY_PRIORITY,
    PLANNER,
    PRIORITY_TAG,
    RANGE_END_TAG,
    RANGE_START_TAG,
    WORKLOAD_TAG,
)

LOOK_BACK = timedelta(days=3)
MOST_RUNS = 1000
ACTIVE = [
    DagsterRunStatus.QUEUED,
    DagsterRunStatus.NOT_STARTED,
    DagsterRunStatus.MANAGED,
    DagsterRunStatus.STARTING,
    DagsterRunStatus.STARTED,
    DagsterRunStatus.CANCELING,
]
ASSETS: dict[Stage, tuple[AssetKey, ...]] = {
    Stage.REGIONS: (DAILY_DEMAND,),
    Stage.NIGHT: (AssetKey(DEMAND_SEAL), AssetKey(TRAINING_WINDOW), AssetKey(DEMAND_MODEL)),
    Stage.SEAL: (AssetKey(DEMAND_SEAL),),
    Stage.REFIT: (AssetKey(TRAINING_WINDOW), AssetKey(DEMAND_MODEL)),
    Stage.FORECAST: (DEMAND_FORECAST,),
    Stage.ACCURACY: (FORECAST_ACCURACY,),
}


def selection_of(*stages: Stage) -> AssetSelection:
    """The assets that runs of these stages may hold."""
    return AssetSelection.assets(*{key for stage in stages for key in ASSETS[stage]})


def past_launches(instance: DagsterInstance, workload: Workload, now: datetime) -> PastLaunches:
    """The runs of the last days that plans have launched."""
    runs = instance.get_runs(
        RunsFilter(
            tags={LAUNCHED_BY_TAG: PLANNER, WORKLOAD_TAG: workload.value},
            created_after=now - LOOK_BACK,
        ),
        limit=MOST_RUNS,
    )
    found: dict[str, PastLaunch] = {}
    for run in runs:
        key = run.tags.get(LAUNCH_TAG, "")
        past = found.get(key, PastLaunch())
        found[key] = PastLaunch(
            active=past.active + (not run.is_finished),
            succeeded=past.succeeded + run.is_success,
            failed=past.failed + (run.is_finished and not run.is_success),
        )
    return PastLaunches(by_key=found)


def running_campaign(instance: DagsterInstance) -> str | None:
    """A backfill or run that may still change history; None where there is none."""
    statuses = [BulkActionStatus.REQUESTED, BulkActionStatus.CANCELING, BulkActionStatus.FAILING]
    backfills = instance.get_backfills(filters=BulkActionsFilter(statuses=statuses), limit=1)
    if backfills:
        return f"campaign {backfills[0].backfill_id}"
    for run in instance.get_runs(RunsFilter(statuses=ACTIVE), limit=MOST_RUNS):
        is_nightly = run.tags.get(WORKLOAD_TAG) == Workload.NIGHTLY.value
        if not is_nightly and run.tags.get(LAUNCHED_BY_TAG) != PLANNER:
            return f"run {run.run_id[:8]}"
    return None


def requests_of(plan: Plan, launches: PastLaunches) -> Iterator[RunRequest]:
    """The plan's launches, each under a run key that also counts its attempts."""
    for launch in plan.launches:
        is_nightly = launch.workload is Workload.NIGHTLY
        tags = {
            WORKLOAD_TAG: launch.workload.value,
            PRIORITY_TAG: NIGHTLY_PRIORITY if is_nightly else BACKFILL_PRIORITY,
            LAUNCHED_BY_TAG: PLANNER,
            LAUNCH_TAG: launch.key,
        }
        run_key = f"{launch.key}#{launches.attempts(launch) + 1}"
        assets = ASSETS[launch.stage]
        match launch.stage:
            case Stage.NIGHT | Stage.REFIT:
                day = launch.first.date.isoformat()
                yield RunRequest(
                    run_key=run_key, tags=tags, asset_selection=assets, partition_key=day
                )
            case Stage.SEAL:
                ends = launch.first.date.isoformat(), launch.last.date.isoformat()
                yield _over_range(run_key, tags, assets, ends)
            case Stage.REGIONS | Stage.FORECAST | Stage.ACCURACY:
                yield _over_range(run_key, tags, assets, _keys(launch))


def _over_range(
    run_key: str, tags: dict[str, str], assets: tuple[AssetKey, ...], ends: tuple[str, str]
) -> RunRequest:
    return RunRequest(
        run_key=run_key,
        tags={**tags, RANGE_START_TAG: ends[0], RANGE_END_TAG: ends[1]},
        asset_selection=assets,
    )


def _keys(launch: Launch) -> tuple[str, str]:
    return format_key(launch.first), format_key(launch.last)
