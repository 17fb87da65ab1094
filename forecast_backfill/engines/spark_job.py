"""One Spark job over the partitions of a batch; what each came to comes back as an Arrow row."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from forecast_backfill.core.partition import Partition
from forecast_backfill.engines.spark_errors import SparkUnavailable
from forecast_backfill.engines.spark_needs import PANDAS_REMEDY
from forecast_backfill.engines.spark_reports import Report, decode, encode
from forecast_backfill.engines.spark_session import first_line
from forecast_backfill.engines.spark_watch import Group, struct_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = pa.schema([("kind", pa.string()), ("report", pa.string())])
TASKS_A_CORE = 4
"""So often a core takes a new task: a long partition then holds up few others."""

Task = Callable[[Sequence[Partition]], Iterator[Report]]
"""Runs on an executor: tries the partitions in turn. Must be picklable and importable there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan:
    """The partitions of each Spark task, what a task does, and what people see of the job."""

    tasks: tuple[tuple[Partition, ...], ...]
    task: Task
    group: str
    description: str


def deal(partitions: Sequence[Partition], tasks: int) -> tuple[tuple[Partition, ...], ...]:
    """The partitions dealt out to at most so many tasks, in turn: dates that are read together."""
    count = max(1, min(tasks, len(partitions)))
    return tuple(tuple(partitions[place::count]) for place in range(count))


class SparkJob:
    """A running job. A Connect server sends reports as tasks end, another driver at the end."""

    def __init__(self, session: SparkSession, plan: JobPlan, *, is_connect: bool) -> None:
        self._session = session
        self._plan = plan
        self._is_connect = is_connect
        self._group = Group(
            session=session, name=plan.group, description=plan.description, is_connect=is_connect
        )
        self._reports: queue.SimpleQueue[Report | None] = queue.SimpleQueue()
        self._failure: str | None = None
        self._thread = threading.Thread(target=self._run, name=plan.group, daemon=True)
        self._thread.start()

    @property
    def is_over(self) -> bool:
        """Whether nothing more will be reported."""
        return not self._thread.is_alive() and self._reports.empty()

    @property
    def failure(self) -> str | None:
        """Why the job broke; None while it runs and where it did not."""
        return self._failure

    def poll(self, seconds: float) -> Iterator[Report]:
        """What was reported, after waiting at most so long for it."""
        try:
            report = self._reports.get(timeout=seconds)
            while True:
                if report is not None:
                    yield report
                report = self._reports.get_nowait()
        except queue.Empty:
            return

    def cancel(self) -> None:
        """Cancel the job group, and wait until its tasks are told."""
        self._group.cancel(self._thread)

    def _run(self) -> None:
        try:
            for row in self._rows():
                self._reports.put(decode(row["kind"], row["report"]))
        except Exception as error:  # noqa: BLE001 — Py4J, gRPC and pyspark share no root
            self._failure = first_line(error)
            missing = _missing_package(error)
            if missing is not None:
                self._reports.put(missing)
        finally:
            self._reports.put(None)

    def _rows(self) -> Iterator[dict]:
        frame = self._session.range(0, len(self._plan.tasks), 1, len(self._plan.tasks))
        frame = frame.mapInArrow(_on_executor(self._plan), struct_of(SCHEMA))
        # A group is the thread's own, so it is joined in the one that runs the job.
        self._group.join()
        yield from frame.toLocalIterator() if self._is_connect else frame.collect()


def _on_executor(plan: JobPlan) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    tasks, task = plan.tasks, plan.task

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for place in batch.column(0).to_pylist():
                for report in task(tasks[place]):
                    kind, text = encode(report)
                    yield pa.RecordBatch.from_pydict({"kind": [kind], "report": [text]})

    return run


def _missing_package(error: Exception) -> SparkUnavailable | None:
    """What to do where the executors lack the project or run another Python; else None."""
    text = str(error)
    for mark, why in (
        ("No module named 'forecast_backfill", "they have no package forecast_backfill"),
        ("PYTHON_VERSION_MISMATCH", "they run another minor version of Python"),
    ):
        if mark in text:
            return SparkUnavailable(
                "the Spark executors cannot run a partition",
                why=why,
                next_command="install this version of forecast-backfill on every worker and start "
                f"them with PYSPARK_PYTHON set to its Python, or {PANDAS_REMEDY}",
            )
    return None
