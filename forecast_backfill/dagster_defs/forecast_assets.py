"""The assets of a night that have one partition a (date, region): forecasts and their accuracy."""

# Without `from __future__ import annotations`: Dagster reads the asset's annotations as classes.

from collections.abc import Iterator

from dagster import (
    AssetCheckSpec,
    AssetDep,
    AssetExecutionContext,
    AssetsDefinition,
    BackfillPolicy,
    Failure,
    MultiPartitionsDefinition,
    MultiToSingleDimensionPartitionMapping,
    Output,
    asset,
)

from forecast_backfill.app.night_steps import forecast_batch, measure_batch
from forecast_backfill.dagster_defs.asset_bodies import NIGHT_GROUP, accepted_previews, night_run
from forecast_backfill.dagster_defs.batch import batch_of
from forecast_backfill.dagster_defs.forecast_events import (
    DEMAND_FORECAST,
    FORECAST_ACCURACY,
    FORECAST_COMPLETE,
    accuracy_events,
    forecast_events,
    publication_event,
)
from forecast_backfill.dagster_defs.logging_events import log_events
from forecast_backfill.dagster_defs.night_assets import DEMAND_MODEL
from forecast_backfill.dagster_defs.partition_keys import DATE_DIMENSION
from forecast_backfill.dagster_defs.summary import raise_unless_forecast
from forecast_backfill.dagster_defs.table_columns import (
    DEMAND_FORECAST_COLUMNS,
    FORECAST_ACCURACY_COLUMNS,
    table_metadata,
)
from forecast_backfill.ports.night_values import Accuracy, ForecastOutcome, NotMeasured
from forecast_backfill.settings import Settings


@accepted_previews()
def build_demand_forecast(
    settings: Settings, partitions: MultiPartitionsDefinition
) -> AssetsDefinition:
    """`demand_forecast`: the regions of a date in one run, which then publishes the date."""
    check = AssetCheckSpec(
        FORECAST_COMPLETE,
        asset=DEMAND_FORECAST,
        partitions_def=partitions,
        description="Every active series has every horizon day exactly once, finite, not negative.",
    )

    @asset(
        key=DEMAND_FORECAST,
        deps=[
            AssetDep(
                DEMAND_MODEL,
                partition_mapping=MultiToSingleDimensionPartitionMapping(DATE_DIMENSION),
            )
        ],
        partitions_def=partitions,
        backfill_policy=BackfillPolicy.multi_run(max_partitions_per_run=len(settings.regions)),
        check_specs=[check],
        output_required=False,
        group_name=NIGHT_GROUP,
        kinds={"postgres"},
        metadata=table_metadata("demand_forecast", DEMAND_FORECAST_COLUMNS),
        description="Forecast units of each region, demand group and day of the horizon. Stores"
        " order by the view `published_forecast`, which switches once a date.",
    )
    def demand_forecast(context: AssetExecutionContext) -> Iterator[Output[None]]:
        def tell(outcome: ForecastOutcome) -> None:
            log_events(context, forecast_events(outcome))

        with night_run(context, settings) as run:
            batch = batch_of(context.run.tags, context.partition_keys, partitions)
            done = forecast_batch(batch, request=run.request, ports=run.ports, tell=tell)
            for published in done.published:
                context.log_event(publication_event(published))
            raise_unless_forecast(done.outcomes)
        yield Output(None, output_name=check.get_python_identifier())

    return demand_forecast


@accepted_previews()
def build_forecast_accuracy(
    settings: Settings, partitions: MultiPartitionsDefinition
) -> AssetsDefinition:
    """`forecast_accuracy`: measured again as days of the horizon come in."""

    @asset(
        key=FORECAST_ACCURACY,
        deps=[DEMAND_FORECAST],
        partitions_def=partitions,
        backfill_policy=BackfillPolicy.multi_run(max_partitions_per_run=len(settings.regions)),
        output_required=False,
        group_name=NIGHT_GROUP,
        kinds={"postgres"},
        metadata=table_metadata("forecast_accuracy", FORECAST_ACCURACY_COLUMNS),
        description="WAPE, RMSSE and bias of each forecast by horizon day, beside the seasonal"
        " naive; measured again as days of the horizon come in.",
    )
    def forecast_accuracy(context: AssetExecutionContext) -> Iterator[Output[None]]:
        def tell(measured: Accuracy | NotMeasured) -> None:
            for event in accuracy_events(measured):
                context.log_event(event)

        with night_run(context, settings) as run:
            batch = batch_of(context.run.tags, context.partition_keys, partitions)
            found = measure_batch(batch, request=run.request, ports=run.ports, tell=tell)
            if not any(isinstance(each, Accuracy) for each in found):
                raise Failure(description=f"nothing was measured: {found[0].reason}")
        yield from ()

    return forecast_accuracy
