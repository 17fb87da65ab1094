"""What Dagster is told of each partition: a materialization for a good one, checks for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import assert_never

from dagster import (
    AssetCheckEvaluation,
    AssetCheckSeverity,
    AssetExecutionContext,
    AssetKey,
    AssetMaterialization,
    MultiPartitionKey,
)
from dagster._core.definitions.data_version import (
    CODE_VERSION_TAG,
    DATA_VERSION_IS_USER_PROVIDED_TAG,
    DATA_VERSION_TAG,
    DEFAULT_DATA_VERSION,
    NULL_EVENT_POINTER,
    get_input_data_version_tag,
    get_input_event_pointer_tag,
)
from dagster._core.definitions.partitions.utils import get_tags_from_multi_partition_key

from forecast_backfill.core.outcome import (
    Failed,
    Mismatched,
    Outcome,
    Quarantined,
    Refused,
    Unchanged,
    Written,
)
from forecast_backfill.core.partition import Partition
from forecast_backfill.dagster_defs.logging_events import log_events
from forecast_backfill.dagster_defs.metadata import (
    RawMetadata,
    faults_metadata,
    intact_words,
    mismatch_metadata,
    output_metadata,
    parity_words,
    show_command,
)
from forecast_backfill.dagster_defs.partition_keys import DATE_DIMENSION, REGION_DIMENSION

DAILY_DEMAND = AssetKey("daily_demand")
POS_SALES = AssetKey("pos_sales")
SOURCE_INTACT = "source_intact"
RECONCILE_PARITY = "reconcile_parity"

Event = AssetMaterialization | AssetCheckEvaluation


class Teller:
    """Tells a run's event log of each outcome as soon as it is known.

    `context.log_event` writes at once: what was told survives a run that fails or dies later.
    """

    def __init__(self, context: AssetExecutionContext) -> None:
        self._context = context

    def tell(self, outcome: Outcome) -> None:
        """Log the outcome's events."""
        log_events(self._context, events_of(outcome))


def events_of(outcome: Outcome) -> Iterator[Event]:
    """The events of one outcome.

    An unchanged partition is materialized too, with the data version that it had: without an event
    of its own Dagster would count a partition that is current as failed. A check that was not
    judged says so: Dagster planned it, and would show it as one that crashed. That is what it shows
    where the attempt ended in an error, and rightly.
    """
    match outcome:
        case Written() | Unchanged():
            yield _materialization(outcome)
            yield _check(
                SOURCE_INTACT, outcome.partition, passed=True, description=intact_words(outcome)
            )
            yield _check(
                RECONCILE_PARITY, outcome.partition, passed=True, description=parity_words(outcome)
            )
        case Quarantined(partition=partition, report=report):
            yield _check(
                SOURCE_INTACT,
                partition,
                passed=False,
                description=report.summary,
                metadata=faults_metadata(report, has_stale_output=outcome.has_stale_output),
            )
            why = "the source was refused, so nothing was stored"
            yield _not_judged(RECONCILE_PARITY, partition, why, show_command(partition))
        case Mismatched(partition=partition, mismatch=mismatch):
            yield _check(SOURCE_INTACT, partition, passed=True)
            yield _check(
                RECONCILE_PARITY,
                partition,
                passed=False,
                description=f"{mismatch.kind}: {mismatch.reason}",
                metadata=mismatch_metadata(mismatch),
            )
        case Refused(partition=partition, refusal=refusal):
            for name in (SOURCE_INTACT, RECONCILE_PARITY):
                yield _not_judged(name, partition, refusal.reason, refusal.next_command)
        case Failed():
            return
        case _:
            assert_never(outcome)


def dagster_key(partition: Partition) -> MultiPartitionKey:
    """The key as Dagster's own class, which tags the event with both dimensions."""
    return MultiPartitionKey(
        {DATE_DIMENSION: partition.date.isoformat(), REGION_DIMENSION: partition.region}
    )


def _materialization(outcome: Written | Unchanged) -> AssetMaterialization:
    key = dagster_key(outcome.partition)
    return AssetMaterialization(
        asset_key=DAILY_DEMAND,
        partition=key,
        metadata=output_metadata(outcome),
        tags={
            **version_tags(outcome.fingerprint.data_version, outcome.identity.code_version),
            **get_tags_from_multi_partition_key(key),
        },
    )


def version_tags(data_version: str, code_version: str) -> dict[str, str]:
    """The tags from which Dagster judges whether a partition is up to date.

    Dagster sets them itself only on what an asset returns; on a logged event they are ours to set.
    """
    return {
        DATA_VERSION_TAG: data_version,
        DATA_VERSION_IS_USER_PROVIDED_TAG: "true",
        CODE_VERSION_TAG: code_version,
        # `pos_sales` is never observed, so its version is the default one on both sides.
        get_input_data_version_tag(POS_SALES): DEFAULT_DATA_VERSION.value,
        get_input_event_pointer_tag(POS_SALES): NULL_EVENT_POINTER,
    }


def _check(
    name: str,
    partition: Partition,
    *,
    passed: bool,
    severity: AssetCheckSeverity = AssetCheckSeverity.ERROR,
    description: str | None = None,
    metadata: Mapping[str, RawMetadata] | None = None,
) -> AssetCheckEvaluation:
    return AssetCheckEvaluation(
        asset_key=DAILY_DEMAND,
        check_name=name,
        passed=passed,
        partition=dagster_key(partition),
        severity=severity,
        description=description,
        metadata=metadata,
    )


def _not_judged(
    name: str, partition: Partition, why: str, next_command: str
) -> AssetCheckEvaluation:
    return _check(
        name,
        partition,
        passed=False,
        severity=AssetCheckSeverity.WARN,
        description=f"not judged: {why}",
        metadata={"next": next_command},
    )
