"""The assets of a night that have one partition a date: seal, window and model."""

# Without `from __future__ import annotations`: Dagster reads the asset's annotations as classes.

from collections.abc import Iterator

from dagster import (
    AssetCheckResult,
    AssetCheckSpec,
    AssetDep,
    AssetExecutionContext,
    AssetKey,
    AssetMaterialization,
    AssetsDefinition,
    BackfillPolicy,
    DailyPartitionsDefinition,
    DataVersion,
    Failure,
    MaterializeResult,
    MultiToSingleDimensionPartitionMapping,
    Output,
    TimeWindowPartitionMapping,
    asset,
)
from dagster._core.definitions.data_version import (
    DATA_VERSION_IS_USER_PROVIDED_TAG,
    DATA_VERSION_TAG,
)

from forecast_backfill.app.night_steps import close_window, fit_day
from forecast_backfill.app.seal_day import seal_day
from forecast_backfill.app.sketch_model import sketch_model
from forecast_backfill.core.seal import Seal
from forecast_backfill.dagster_defs.asset_bodies import NIGHT_GROUP, accepted_previews, night_run
from forecast_backfill.dagster_defs.batch import BatchRefused, dates_of
from forecast_backfill.dagster_defs.contract_words import contract_words
from forecast_backfill.dagster_defs.events import DAILY_DEMAND
from forecast_backfill.dagster_defs.logging_events import log_events
from forecast_backfill.dagster_defs.night_metadata import (
    model_metadata,
    seal_metadata,
    window_metadata,
)
from forecast_backfill.dagster_defs.partition_keys import DATE_DIMENSION
from forecast_backfill.dagster_defs.seam_check import audit_day, audit_days, seam_check_spec
from forecast_backfill.dagster_defs.table_columns import table_metadata
from forecast_backfill.ports.night_values import NotTrained
from forecast_backfill.settings import Settings

DEMAND_SEAL = "demand_seal"
TRAINING_WINDOW = "training_window"
DEMAND_MODEL = "demand_model"
COMPLETENESS_CONTRACT = "completeness_contract"


@accepted_previews()
def build_demand_seal(settings: Settings, dates: DailyPartitionsDefinition) -> AssetsDefinition:
    """`demand_seal`: many dates in one run where a campaign has changed many."""
    check = seam_check_spec(AssetKey(DEMAND_SEAL), dates)

    @asset(
        name=DEMAND_SEAL,
        deps=[
            AssetDep(
                DAILY_DEMAND,
                partition_mapping=MultiToSingleDimensionPartitionMapping(DATE_DIMENSION),
            )
        ],
        partitions_def=dates,
        backfill_policy=BackfillPolicy.single_run(),
        # A run over several dates tells of each by an event of its own, not by an output.
        output_required=False,
        check_specs=[check],
        group_name=NIGHT_GROUP,
        kinds={"postgres"},
        metadata=table_metadata("demand_seal"),
        description="What a date holds: the regions that are in, at which version, and those that"
        " are not, with the reason.",
    )
    def demand_seal(
        context: AssetExecutionContext,
    ) -> Iterator[MaterializeResult | Output[None]]:
        with night_run(context, settings) as run:
            days = dates_of(context.run.tags, context.partition_keys, dates)
            if len(days) == 1:
                seal = seal_day(days[0], request=run.request, ports=run.ports)
                yield _seal_result(seal, audit_day(days[0], run))
                return
            for day in days:
                context.log_event(_seal_event(seal_day(day, request=run.request, ports=run.ports)))
            for found in audit_days(days, run, AssetKey(DEMAND_SEAL)):
                log_events(context, [found])
        yield Output(None, output_name=check.get_python_identifier())

    return demand_seal


def _seal_result(seal: Seal, check: AssetCheckResult) -> MaterializeResult:
    return MaterializeResult(
        metadata=seal_metadata(seal),
        data_version=DataVersion(seal.data_version),
        check_results=[check],
    )


def _seal_event(seal: Seal) -> AssetMaterialization:
    return AssetMaterialization(
        DEMAND_SEAL,
        partition=str(seal.date),
        metadata=seal_metadata(seal),
        tags={
            DATA_VERSION_TAG: seal.data_version,
            DATA_VERSION_IS_USER_PROVIDED_TAG: "true",
        },
    )


@accepted_previews()
def build_training_window(settings: Settings, dates: DailyPartitionsDefinition) -> AssetsDefinition:
    """`training_window` with the check that keeps a fit from starting."""

    @asset(
        name=TRAINING_WINDOW,
        deps=[AssetDep(DEMAND_SEAL, partition_mapping=_trailing(settings.window_days))],
        partitions_def=dates,
        check_specs=[
            AssetCheckSpec(
                COMPLETENESS_CONTRACT,
                asset=TRAINING_WINDOW,
                partitions_def=dates,
                blocking=True,
                description="Enough of the window is there: as a whole, by region and by date."
                " Where it is not, no fit starts.",
            )
        ],
        group_name=NIGHT_GROUP,
        kinds={"postgres"},
        metadata=table_metadata("training_window"),
        description="The seals of the trailing days that a model is fitted on, judged by the"
        " completeness contract.",
    )
    def training_window(context: AssetExecutionContext) -> MaterializeResult:
        with night_run(context, settings) as run:
            (day,) = one_date(context, dates)
            verdict = close_window(day, request=run.request, ports=run.ports)
        metadata, words = window_metadata(verdict), contract_words(verdict)
        if not verdict.is_trainable:
            # Dagster ends the run with a stack trace of its own, which names only the check.
            context.log.error(f"no fit of {day}: {words}")
        check = AssetCheckResult(
            check_name=COMPLETENESS_CONTRACT,
            passed=verdict.is_trainable,
            metadata=metadata,
            description=words,
        )
        return MaterializeResult(
            metadata=metadata,
            data_version=DataVersion(verdict.data_version),
            check_results=[check],
        )

    return training_window


@accepted_previews()
def build_demand_model(settings: Settings, dates: DailyPartitionsDefinition) -> AssetsDefinition:
    """`demand_model`: one fit over all series of a date."""

    @asset(
        name=DEMAND_MODEL,
        deps=[TRAINING_WINDOW],
        partitions_def=dates,
        group_name=NIGHT_GROUP,
        kinds={"lightgbm"},
        metadata=table_metadata("demand_model"),
        description="One model of all region × demand group series, or the formula in its place"
        " where the fit fails or loses.",
    )
    def demand_model(context: AssetExecutionContext) -> MaterializeResult:
        with night_run(context, settings) as run:
            (day,) = one_date(context, dates)
            fit = fit_day(day, request=run.request, ports=run.ports, dimensions=run.dimensions)
            model = fit.trained
            if isinstance(model, NotTrained):
                raise Failure(description="\n".join(model.reasons), allow_retries=False)
            sketches = sketch_model(model, ports=run.ports)
            metadata = model_metadata(model, fit, run.ports.windows.find(day), sketches)
        return MaterializeResult(metadata=metadata, data_version=DataVersion(model.version))

    return demand_model


def one_date(context: AssetExecutionContext, dates: DailyPartitionsDefinition) -> list:
    """The run's only date.

    Raises BatchRefused where it has several: a window or model is told by the run's one output.
    """
    days = dates_of(context.run.tags, context.partition_keys, dates)
    if len(days) != 1:
        raise BatchRefused(f"it names {len(days)} dates, and this asset takes one a run")
    return days


def _trailing(days: int) -> TimeWindowPartitionMapping:
    """The seals of the trailing window; those before the first date do not exist."""
    return TimeWindowPartitionMapping(
        start_offset=1 - days, end_offset=0, allow_nonexistent_upstream_partitions=True
    )
