"""The run queue: every run counts as some workload, and backfill gets what the live cap allows."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from dagster import DagsterRun
from dagster._core.execution.backfill import BulkActionStatus
from dagster._core.run_coordinator import QueuedRunCoordinator, SubmitRunContext
from dagster._core.run_coordinator.queued_run_coordinator import RunQueueConfig
from dagster._serdes import ConfigurableClassData

from forecast_backfill.app.operate import InForce
from forecast_backfill.core.errors import SettingRefused
from forecast_backfill.core.states import Workload
from forecast_backfill.dagster_defs.live_cap import LiveCap, open_live_control
from forecast_backfill.dagster_defs.tags import (
    BACKFILL_ID_TAG,
    BACKFILL_PRIORITY,
    NIGHTLY_PRIORITY,
    PRIORITY_TAG,
    WORKLOAD_TAG,
)
from forecast_backfill.settings import load_settings

Limits = Sequence[Mapping[str, Any]]
NO_LIMIT = -1
_CANCELLED = (BulkActionStatus.CANCELING, BulkActionStatus.CANCELED)


class WorkloadRunCoordinator(QueuedRunCoordinator):
    """Dagster's own queue, in which each run carries the tag that the limits count by.

    Dagster limits runs by tag, and a run without the tag escapes every limit: a backfill launched
    from the UI would then take the slots that nightly needs. The limit of backfill in dagster.yaml
    is the most that it may ever have; at each tick the daemon gets what it may have now.
    """

    _live_cap: LiveCap | None = None
    _has_told = False

    @cached_property
    def _shown(self) -> LiveCap:
        """What the webserver reads the cap through; it decides nothing."""
        return LiveCap(partial(open_live_control, load_settings()), self._logger)

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData, config_value: Mapping[str, Any]
    ) -> WorkloadRunCoordinator:
        """Build it from dagster.yaml.

        Raises SettingRefused where backfill's runs could take nightly's share of the queue.
        """
        check_limits(
            config_value.get("max_concurrent_runs", 10),
            config_value.get("tag_concurrency_limits") or [],
            slots=load_settings().slots,
        )
        return super().from_config_value(inst_data, config_value)

    @property
    def dequeue_interval_seconds(self) -> int:
        """How often the daemon looks; only the daemon asks, so from now on limits are live."""
        if self._live_cap is None:
            self._live_cap = LiveCap(partial(open_live_control, load_settings()), self._logger)
        return super().dequeue_interval_seconds

    def get_run_queue_config(self) -> RunQueueConfig:
        """The limits of dagster.yaml; in the daemon, with what backfill may have now.

        The webserver shows them to whoever asks why a run is queued, so it gets the reason too. Run
        workers ask as well, about pools: they get the file's, without a query.
        """
        config = super().get_run_queue_config()
        limits = config.tag_concurrency_limits
        if self._live_cap is not None:
            slots = self._live_cap.slots()
            self._tell_of_unreachable(limits, slots)
            return config._replace(tag_concurrency_limits=limits_with(limits, slots=slots))
        if is_webserver():
            return config._replace(tag_concurrency_limits=limits_told(limits, self._shown.look()))
        return config

    def dispose(self) -> None:
        """Close the connection of the live cap."""
        if self._live_cap is not None:
            self._live_cap.close()
        if "_shown" in self.__dict__:
            self._shown.close()
        super().dispose()

    def submit_run(self, context: SubmitRunContext) -> DagsterRun:
        """Tag the run with its workload and priority where it does not say, then queue it.

        A run of a backfill that was cancelled meanwhile is cancelled here: Dagster creates the runs
        of a backfill in batches, and one of them may be on its way.
        """
        run = context.dagster_run
        missing = missing_tags(run.tags)
        if missing:
            self._instance.add_run_tags(run.run_id, missing)
        submitted = super().submit_run(context)
        if self._is_cancelled(run.tags.get(BACKFILL_ID_TAG)):
            self.cancel_run(run.run_id)
        return submitted

    def _tell_of_unreachable(self, limits: Limits, slots: int) -> None:
        """Say once that the file keeps backfill below its cap: nothing else would show it."""
        limit = _limit_of(limits, Workload.BACKFILL)
        if self._has_told or limit is None or slots <= limit:
            return
        self._has_told = True
        self._logger.warning(
            "backfill may hold %d slots, but dagster.yaml lets it have %d runs at once; to use "
            "all: raise its limit under tag_concurrency_limits, and max_concurrent_runs with it",
            slots,
            limit,
        )

    def _is_cancelled(self, backfill_id: str | None) -> bool:
        backfill = None if backfill_id is None else self._instance.get_backfill(backfill_id)
        return backfill is not None and backfill.status in _CANCELLED


def missing_tags(tags: Mapping[str, str]) -> dict[str, str]:
    """The tags that the run has to be given."""
    workload = tags.get(WORKLOAD_TAG, Workload.BACKFILL.value)
    priority = NIGHTLY_PRIORITY if workload == Workload.NIGHTLY.value else BACKFILL_PRIORITY
    wanted = {WORKLOAD_TAG: workload, PRIORITY_TAG: priority}
    return {name: value for name, value in wanted.items() if name not in tags}


def limits_with(limits: Limits, *, slots: int) -> list[dict[str, Any]]:
    """The limits, with backfill's lowered to the slots that it may hold now."""
    live: list[dict[str, Any]] = []
    for each in limits:
        lowered = min(each["limit"], slots) if _is_of(each, Workload.BACKFILL) else each["limit"]
        live.append({**each, "limit": lowered})
    return live


def limits_told(limits: Limits, found: InForce) -> list[dict[str, Any]]:
    """The limits as the UI shows them: backfill's with why it is below the file's.

    The dialogue "View queue criteria" and the page of the queue's configuration show the text as
    it is, so a run that waits tells why.
    """
    return [
        {**each, "limit": f"{found.slots} of {each['limit']} now: {found.reason}"}
        if _is_of(each, Workload.BACKFILL) and found.slots < each["limit"]
        else {**each}
        for each in limits
    ]


def is_webserver() -> bool:
    """Whether this process serves the UI."""
    return "dagster_webserver" in sys.modules


def check_limits(max_runs: int, limits: Limits, *, slots: int) -> None:
    """Refuse limits under which nightly could find the queue full of backfill's runs.

    A run of backfill that waits for a slot still counts as a run, so nightly's share of
    `max_concurrent_runs` has to be there beside all that backfill could ever have. Raises
    SettingRefused.
    """
    nightly, backfill = (_limit_of(limits, workload) for workload in Workload)
    if nightly is None or backfill is None:
        raise _refused(
            f"{WORKLOAD_TAG} has no limit for {'nightly' if nightly is None else 'backfill'}",
            "add the limit under tag_concurrency_limits, as in the dagster.yaml of the checkout",
        )
    needed = nightly + min(backfill, slots)
    if max_runs != NO_LIMIT and max_runs < needed:
        raise _refused(
            f"max_concurrent_runs {max_runs} is less than nightly's {nightly} and the "
            f"{min(backfill, slots)} that backfill can come to",
            f"set max_concurrent_runs to {needed} in dagster.yaml",
        )


def _refused(why: str, next_command: str) -> SettingRefused:
    return SettingRefused(
        "the run_coordinator of dagster.yaml was refused", why=why, next_command=next_command
    )


def _limit_of(limits: Limits, workload: Workload) -> int | None:
    return next((int(each["limit"]) for each in limits if _is_of(each, workload)), None)


def _is_of(limit: Mapping[str, Any], workload: Workload) -> bool:
    return limit["key"] == WORKLOAD_TAG and limit.get("value") == workload.value
