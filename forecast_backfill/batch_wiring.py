"""Who runs a batch: this process, or Spark, whose executors wire the same ports for themselves."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, assert_never

from forecast_backfill.app.run_elsewhere import run_elsewhere, share_held
from forecast_backfill.app.run_grouped import run_grouped
from forecast_backfill.app.run_partition import run_batch
from forecast_backfill.core.errors import ForecastBackfillError
from forecast_backfill.core.outcome import Outcome
from forecast_backfill.core.partition import Partition
from forecast_backfill.ports import Ports, RunRequest
from forecast_backfill.settings import Settings, load_settings
from forecast_backfill.spark_settings import EngineKind
from forecast_backfill.warehouse.connect import resolve_database_url
from forecast_backfill.warehouse.spark_share import PostgresSparkShare
from forecast_backfill.wiring import load_engine, open_session, open_wiring

REPORTED_TOGETHER = 50
"""Partitions of a lakehouse that an executor commits, and reports, at a time."""

Tell = Callable[[Outcome], None]
BatchRunner = Callable[[Iterable[Partition], RunRequest, Ports, Tell], list[Outcome]]
OpenSpark = Callable[[], AbstractContextManager[Any]]
"""Opens a Spark session that is stopped at the end of the block."""


def run_batch_of(settings: Settings, open_spark: OpenSpark | None = None) -> BatchRunner:
    """What runs a batch, by the settings; `open_spark` gives the session where a run has one.

    Nothing of Spark is loaded before the runner is called, and with pandas never.
    """
    match settings.engine:
        case EngineKind.PANDAS:
            return run_grouped if settings.is_lakehouse else run_batch
        case EngineKind.SPARK:
            return partial(_run_in_spark, settings, open_spark)
        case _:
            assert_never(settings.engine)


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

    shipment = ship(settings, request)
    opened = open_spark or partial(spark_session.open_spark, settings, request.workload)
    with (
        open_session(settings, request.workload) as control,
        share_held(request, ports, PostgresSparkShare(control)),
    ):

        @contextmanager
        def start(left: Sequence[Partition], limit: int, is_careful: bool) -> Iterator[SparkJob]:
            cores = spark_session.max_cores(settings, request.workload, limit)
            # A Connect server bounds no client's cores; the number of tasks does.
            tasks = cores if settings.is_spark_connect else cores * TASKS_A_CORE
            plan = JobPlan(
                tasks=deal(left, len(left) if is_careful else tasks),
                task=partial(run_here, shipment),
                group=f"forecast-backfill-{request.run_id}",
                description=f"{request.workload}: {len(left)} partitions of run {request.run_id}",
            )
            with opened() as session:
                yield SparkJob(session, plan, is_connect=settings.is_spark_connect)

        return run_elsewhere(partitions, request, ports, tell, start)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipment:
    """What an executor needs to wire the ports: plain values; `code_version` is the driver's."""

    settings: str
    request: RunRequest
    code_version: str


def ship(settings: Settings, request: RunRequest) -> Shipment:
    """The settings as they hold here, whatever the executor's own environment says."""
    values: dict[str, Any] = settings.model_dump(mode="json")
    values["database_url"] = resolve_database_url(settings)
    # Addresses with passwords that no partition needs.
    values["nightly_notices"] = values["backfill_notices"] = []
    return Shipment(
        settings=json.dumps(values),
        request=request,
        code_version=load_engine(settings).code_version,
    )


def unpack(shipment: Shipment) -> Settings:
    """The shipped settings."""
    return load_settings(**json.loads(shipment.settings))


def run_here(
    shipment: Shipment, partitions: Sequence[Partition]
) -> Iterator[Outcome | ForecastBackfillError]:
    """On an executor: try the partitions in turn; an error that ends all of it comes as the last.

    Each goes through the same `run_batch` as in a run without Spark; in a lakehouse some at a time,
    which are committed together.
    """
    request, settings = shipment.request, unpack(shipment)
    run, size = (run_grouped, REPORTED_TOGETHER) if settings.is_lakehouse else (run_batch, 1)
    told: list[Outcome] = []
    try:
        with open_wiring(settings, workload=request.workload, run_id=request.run_id) as wiring:
            _check_code(shipment, wiring.ports.engine.code_version)
            for first in range(0, len(partitions), size):
                run(partitions[first : first + size], request, wiring.ports, told.append)
                yield from told
                told.clear()
    except ForecastBackfillError as error:
        yield from told
        yield error


def _check_code(shipment: Shipment, found: str) -> None:
    if found != shipment.code_version:
        raise ForecastBackfillError(
            "the Spark executors run another version of the code",
            why=f"they have {found}, this run has {shipment.code_version}",
            next_command="install this version of forecast-backfill on every worker",
        )
