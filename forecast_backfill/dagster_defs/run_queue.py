"""The run queue: every run that does not say which workload it is counts as backfill."""

from __future__ import annotations

from collections.abc import Mapping

from dagster import DagsterRun
from dagster._core.run_coordinator import QueuedRunCoordinator, SubmitRunContext

from forecast_backfill.core.states import Workload
from forecast_backfill.dagster_defs.tags import (
    BACKFILL_PRIORITY,
    NIGHTLY_PRIORITY,
    PRIORITY_TAG,
    WORKLOAD_TAG,
)


class WorkloadRunCoordinator(QueuedRunCoordinator):
    """Dagster's own queue, in which each run carries the tag that the limits count by.

    Dagster limits runs by tag, and a run without the tag escapes every limit: a backfill launched
    from the UI would then take the slots that nightly needs.
    """

    def submit_run(self, context: SubmitRunContext) -> DagsterRun:
        """Tag the run with its workload and priority where it does not say, then queue it."""
        run = context.dagster_run
        missing = missing_tags(run.tags)
        if missing:
            self._instance.add_run_tags(run.run_id, missing)
        return super().submit_run(context)


def missing_tags(tags: Mapping[str, str]) -> dict[str, str]:
    """The tags that the run has to be given."""
    workload = tags.get(WORKLOAD_TAG, Workload.BACKFILL.value)
    priority = NIGHTLY_PRIORITY if workload == Workload.NIGHTLY.value else BACKFILL_PRIORITY
    wanted = {WORKLOAD_TAG: workload, PRIORITY_TAG: priority}
    return {name: value for name, value in wanted.items() if name not in tags}
