"""Launches runs as Dagster does by itself, and can tell of each whether its worker still lives."""

from __future__ import annotations

import os
import signal

from dagster import DagsterEventType, DagsterRun
from dagster._core.launcher import CheckRunHealthResult, DefaultRunLauncher, WorkerStatus
from dagster._core.launcher.base import LaunchRunContext

from forecast_backfill.dagster_defs.tags import MACHINE_TAG
from forecast_backfill.dagster_defs.worker_process import (
    Fate,
    Machine,
    fate_of,
    is_stopped,
    this_machine,
)

STARTED_PREFIX = "Started process for run"


class WatchedRunLauncher(DefaultRunLauncher):
    """Dagster's own launcher, over processes of the code server, with a check of their health.

    A code server tells of a worker that died. Where both died (a reboot, the machine out of memory)
    nobody does, and the run would keep its place in the queue until `max_runtime_seconds`. Run
    monitoring asks here, also about runs from before its own start; a doubt counts as alive.
    """

    def launch_run(self, context: LaunchRunContext) -> None:
        """Note on which machine the worker will be, then launch it."""
        run_id = context.dagster_run.run_id
        self._instance.add_run_tags(run_id, {MACHINE_TAG: this_machine().as_text()})
        super().launch_run(context)

    @property
    def supports_check_run_worker_health(self) -> bool:
        """Yes, unlike Dagster's own."""
        return True

    def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
        """Failed where the worker's process is certainly gone, else running."""
        pid, fate = self._look_at(run)
        if fate is not Fate.GONE or self._is_finished(run.run_id):
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        return CheckRunHealthResult(WorkerStatus.FAILED, f"its process {pid} is gone")

    def terminate(self, run_id: str) -> bool:
        """Tell the worker to stop; one that was stopped, and cannot hear it, is ended.

        The code server would wait for its answer, and start no run meanwhile, nightly's neither.
        """
        run = self._instance.get_run_by_id(run_id)
        if run is None or run.is_finished:
            return False
        pid, fate = self._look_at(run)
        if fate is not Fate.ALIVE or not is_stopped(pid):
            return super().terminate(run_id)
        self._instance.report_run_canceling(run)
        os.kill(pid, signal.SIGKILL)
        self._instance.report_run_canceled(run, f"Its process {pid} was stopped, and was ended.")
        return True

    def _look_at(self, run: DagsterRun) -> tuple[int, Fate]:
        tag, worker = run.tags.get(MACHINE_TAG), self._worker_of(run.run_id)
        if tag is None or worker is None:
            return 0, Fate.UNKNOWN
        pid, started_at = worker
        machine = Machine.of(tag)
        return pid, fate_of(pid, started_at=started_at, machine=machine, here=this_machine())

    def _worker_of(self, run_id: str) -> tuple[int, float] | None:
        """The worker's process id and when it told of itself, by the run's own events."""
        for entry in self._instance.all_logs(run_id, of_type=DagsterEventType.ENGINE_EVENT):
            event = entry.dagster_event
            if event is not None and (event.message or "").startswith(STARTED_PREFIX):
                told = event.engine_event_data.metadata.get("pid")
                return None if told is None else (int(str(told.value)), entry.timestamp)
        return None

    def _is_finished(self, run_id: str) -> bool:
        # A worker ends right after its run: the run was read before the process was looked for.
        found = self._instance.get_run_by_id(run_id)
        return found is None or found.is_finished
