"""Who runs a batch: this process, or Spark, whose executors wire the same ports for themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import assert_never

from forecast_backfill.app.run_elsewhere import run_elsewhere, share_held
from forecast_backfill.app.run_grouped import run_grouped
from forecast_backfill.app.run_partition import run_batch
from forecast_backfill.core.errors import ForecastBackfillError
from forecast_backfill.core.outcome import Outcome
from forecast_backfill.core.partition import Partition
from forecast_backfill.ports import Ports, RunRequest
from forecast_backfill.settings import Settings
from forecast_backfill.settings.spark import EngineKind
from forecast_backfill.warehouse.spark_share import PostgresSparkShare
from forecast_backfill.wiring.partition import open_session, open_wiring
from forecast_backfill.wiring.shipping import OpenSpark as OpenSpark
from forecast_backfill.wiring.shipping import Shipment, check_code, ship, unpack

Tell = Callable[[Outcome], None]
BatchRunner = Callable[[Iterable[Partition], RunRequest, Ports, Tell], list[Outcome]]


def run_batch_of(settings: Settings, open_spark: OpenSpark | None = None) -> BatchRunner:
    """What runs a batch, by the settings; `open_spark` gives the session where a run has one.

    Nothing of Spark is loaded before the runner is called, and with pandas never.
    """
    match settings.engine:
        case EngineKind.PANDAS:
            return _in_process(settings)
        case EngineKind.SPARK:
            return partial(_run_in_spark, settings, open_spark)
        case _:
            assert_never(settings.engine)


def _in_process(settings: Settings) -> BatchRunner:
    return run_grouped if settings.is_lakehouse else run_batch


def _run_in_spark(
    settings: Settings,
    open_spark: OpenSpark | None,
    partitions: Iterable[Partition],
    request: RunRequest,
    ports: Ports,
    tell: Tell,
) -> list[Outcome]:
    from forecast_backfill.engines import spark_session
    from forecast_backfill.engines.spark_job import TASKS_A_CORE, JobPlan, SparkJob, deal
    from forecast_backfill.wiring.spread import is_large, run_spread

    asked = dict.fromkeys(partitions)
    large = [partition for partition in asked if is_large(settings, partition)]
    small = [partition for partition in asked if partition not in large]
    shipment = ship(settings, request)
    opened = open_spark or partial(spark_session.open_spark, settings, request.workload)
    with (
        open_session(settings, request.workload) as control,
        share_held(request, ports, PostgresSparkShare(control)),
    ):

        @contextmanager
        def start(left: Sequence[Partition], limit: int, is_careful: bool) -> Iterator[SparkJob]:
            cores = spark_session.max_cores(settings, request.workload, limit)
            # A Connect server bounds no client's cores; the number of tasks does. In a lakehouse
            # each task is a commit more.
            is_few = settings.is_spark_connect or settings.is_lakehouse
            tasks = cores if is_few else cores * TASKS_A_CORE
            plan = JobPlan(
                tasks=deal(left, len(left) if is_careful else tasks),
                task=partial(run_here, shipment),
                group=f"forecast-backfill-{request.run_id}",
                description=f"{request.workload}: {len(left)} partitions of run {request.run_id}",
            )
            with opened() as session:
                yield SparkJob(session, plan, is_connect=settings.is_spark_connect)

        outcomes = run_elsewhere(small, request, ports, tell, start)
        return [*outcomes, *run_spread(settings, opened, large, request, ports, tell)]


def run_here(
    shipment: Shipment, partitions: Sequence[Partition]
) -> Iterator[Outcome | ForecastBackfillError]:
    """On an executor: try the partitions in turn; an error that ends all of it comes as the last.

    Each goes through the same `run_batch` as in a run without Spark; in a lakehouse they are
    committed together. Nothing is said before the end: Spark passes on what whole tasks have said.
    """
    request, settings = shipment.request, unpack(shipment)
    told: list[Outcome | ForecastBackfillError] = []
    try:
        with open_wiring(settings, workload=request.workload, run_id=request.run_id) as wiring:
            check_code(shipment, wiring.ports.engine.code_version)
            _in_process(settings)(partitions, request, wiring.ports, told.append)
    except ForecastBackfillError as error:
        told.append(error)
    yield from told
