"""What the assets need of Spark where the settings name it; with pandas nothing, and no import."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from dagster import AssetExecutionContext, InitResourceContext, ResourceDefinition, resource

from forecast_backfill.core.states import Workload
from forecast_backfill.dagster_defs.batch import workload_of
from forecast_backfill.settings import Settings
from forecast_backfill.settings.spark import EngineKind
from forecast_backfill.wiring.batch import OpenSpark

if TYPE_CHECKING:
    from forecast_backfill.dagster_defs.spark_resource import RunSpark

SPARK = "pyspark"


def spark_keys(settings: Settings) -> set[str]:
    """The resource keys that an asset which runs batches requires."""
    return {SPARK} if settings.engine is EngineKind.SPARK else set()


def spark_resources(settings: Settings) -> dict[str, ResourceDefinition]:
    """The resources of those keys: a lazy session a run, in the pool of the run's workload.

    Raises SparkUnavailable where a package is missing.
    """
    if settings.engine is not EngineKind.SPARK:
        return {}
    from forecast_backfill.engines.spark_needs import check_packages
    from forecast_backfill.engines.spark_session import spark_config

    check_packages("dagster_pyspark", "pyspark")
    from forecast_backfill.dagster_defs.spark_resource import RunSpark

    @resource(description="A Spark session, opened at first use and stopped after it.")
    def pyspark(context: InitResourceContext) -> Iterator[Any]:
        tags = {} if context.run is None else context.run.tags
        lazy = RunSpark(spark_config=spark_config(settings, workload_of(tags)))
        try:
            yield lazy
        finally:
            lazy.stop()

    return {SPARK: pyspark}


def open_spark_of(context: AssetExecutionContext, settings: Settings) -> OpenSpark | None:
    """Opens the run's Spark session; None with pandas."""
    if settings.engine is not EngineKind.SPARK:
        return None
    workload = workload_of(context.run.tags)
    return partial(_opened, context.resources.pyspark, settings, workload)


@contextmanager
def _opened(lazy: RunSpark, settings: Settings, workload: Workload) -> Iterator[Any]:
    from forecast_backfill.engines.spark_session import start_session

    try:
        yield start_session(settings, workload, lambda: lazy.spark_session)
    finally:
        lazy.stop()
