"""The assets: the landed files, and the daily demand that is rebuilt from them."""

# Without `from __future__ import annotations`: Dagster reads the asset's annotations as classes.

from collections.abc import Iterator

from dagster import (
    AssetCheckSpec,
    AssetExecutionContext,
    AssetsDefinition,
    AssetSpec,
    BackfillPolicy,
    MultiPartitionsDefinition,
    Output,
    asset,
)

from forecast_backfill.dagster_defs.asset_bodies import GROUP, accepted_previews, expected_errors
from forecast_backfill.dagster_defs.batch import batch_of, winner_of, workload_of
from forecast_backfill.dagster_defs.campaign_registration import register_backfill
from forecast_backfill.dagster_defs.events import (
    DAILY_DEMAND,
    POS_SALES,
    RECONCILE_PARITY,
    SOURCE_INTACT,
    Teller,
)
from forecast_backfill.dagster_defs.spark_runs import open_spark_of, spark_keys
from forecast_backfill.dagster_defs.summary import raise_unless_done
from forecast_backfill.dagster_defs.table_columns import (
    POS_SALES_COLUMNS,
    column_metadata,
    demand_kinds,
    demand_metadata,
)
from forecast_backfill.dagster_defs.tags import BACKFILL_ID_TAG, REPROCESS_TAG
from forecast_backfill.settings import Settings
from forecast_backfill.wiring.batch import run_batch_of
from forecast_backfill.wiring.partition import open_wiring
from forecast_backfill.wiring.process_priority import lower_priority


def build_pos_sales(partitions: MultiPartitionsDefinition) -> AssetSpec:
    """What the retailer lands: files that nobody here writes."""
    return AssetSpec(
        POS_SALES,
        partitions_def=partitions,
        group_name=GROUP,
        kinds={"csv"},
        metadata=column_metadata(POS_SALES_COLUMNS),
        description="Point-of-sale lines as the retailer lands them: one delivery a (date, region),"
        " with a manifest of its lines, control totals and hash. Nothing here writes them.",
    )


@accepted_previews()
def build_daily_demand(
    settings: Settings, partitions: MultiPartitionsDefinition, code_version: str
) -> AssetsDefinition:
    """`daily_demand`: several partitions a run, each committed, checked and told on its own."""
    check_specs = _check_specs(partitions)

    @asset(
        key=DAILY_DEMAND,
        deps=[POS_SALES],
        partitions_def=partitions,
        backfill_policy=_backfill_policy(settings),
        code_version=code_version,
        check_specs=check_specs,
        # Only partitions with a good output are materialized, each by an event of its own; what
        # Dagster would log for a returned output covers the whole range.
        output_required=False,
        required_resource_keys=spark_keys(settings),
        group_name=GROUP,
        kinds=demand_kinds(settings),
        metadata=demand_metadata(settings),
        description="Units and revenue of each date, store and product, rebuilt from `pos_sales`"
        " and reconciled with it before it is committed. A partition whose source is refused keeps"
        " its last good rows. Consumers read the view `daily_demand_for_readers`.",
    )
    def daily_demand(context: AssetExecutionContext) -> Iterator[Output[None]]:
        tags = context.run.tags
        with expected_errors():
            batch = batch_of(tags, context.partition_keys, partitions)
            with open_wiring(
                settings, workload=workload_of(tags), run_id=context.run.run_id
            ) as wiring:
                lower_priority(wiring.workload, settings)
                request = wiring.request(
                    campaign_id=tags.get(BACKFILL_ID_TAG),
                    reprocess=tags.get(REPROCESS_TAG) == "true",
                    winner=winner_of(tags),
                )
                request = register_backfill(context, request, wiring, batch)
                teller = Teller(context)
                run_batch = run_batch_of(settings, open_spark_of(context, settings))
                raise_unless_done(run_batch(batch, request, wiring.ports, teller.tell))
        # Dagster waits for these outputs; what the checks found was logged for each partition.
        for spec in check_specs:
            yield Output(None, output_name=spec.get_python_identifier())

    return daily_demand


def _backfill_policy(settings: Settings) -> BackfillPolicy:
    if settings.batch_size == "all":
        return BackfillPolicy.single_run()
    return BackfillPolicy.multi_run(max_partitions_per_run=settings.batch_size)


def _check_specs(partitions: MultiPartitionsDefinition) -> list[AssetCheckSpec]:
    descriptions = {
        SOURCE_INTACT: "The landed file and its manifest are complete, well-formed and agree.",
        RECONCILE_PARITY: "What is stored equals what was read and what the manifest promised.",
    }
    return [
        AssetCheckSpec(name, asset=DAILY_DEMAND, partitions_def=partitions, description=text)
        for name, text in descriptions.items()
    ]
