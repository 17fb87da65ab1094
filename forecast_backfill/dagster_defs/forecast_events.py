"""What Dagster is told of forecasts, of their publication and of their accuracy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from dagster import (
    AssetCheckEvaluation,
    AssetCheckSeverity,
    AssetKey,
    AssetMaterialization,
    AssetObservation,
)
from dagster._core.definitions.data_version import (
    DATA_VERSION_IS_USER_PROVIDED_TAG,
    DATA_VERSION_TAG,
)
from dagster._core.definitions.partitions.utils import get_tags_from_multi_partition_key

from forecast_backfill.core.partition import Partition
from forecast_backfill.core.publication import NothingToPublish, Publication
from forecast_backfill.dagster_defs.events import Event, dagster_key
from forecast_backfill.dagster_defs.metadata import RawMetadata
from forecast_backfill.dagster_defs.night_metadata import accuracy_metadata, publication_metadata
from forecast_backfill.ports.night_values import (
    Accuracy,
    ForecastMismatched,
    ForecastOutcome,
    ForecastRefused,
    ForecastWritten,
    NotMeasured,
)

DEMAND_FORECAST = AssetKey("demand_forecast")
FORECAST_ACCURACY = AssetKey("forecast_accuracy")
FORECAST_COMPLETE = "forecast_complete"


def forecast_events(outcome: ForecastOutcome) -> Iterator[Event]:
    """A materialization for stored forecasts, and the check for each partition that was tried."""
    match outcome:
        case ForecastWritten(partition=partition, fingerprint=fingerprint):
            metadata: dict[str, RawMetadata] = {
                "outcome": "written" if outcome.is_changed else "unchanged",
                "dagster/partition_row_count": fingerprint.rows,
                "rows": fingerprint.rows,
                "units": round(fingerprint.milliunits / 1000, 3),
                "checksum": str(fingerprint.checksum),
                "model_version": outcome.model_version,
                "seconds": round(outcome.seconds, 3),
            }
            version = fingerprint.data_version
            yield _materialization(DEMAND_FORECAST, partition, version, metadata)
            yield _check(
                partition,
                passed=True,
                description=f"{fingerprint.rows:,} forecasts: every series and day once",
            )
        case ForecastRefused(partition=partition, reasons=reasons):
            yield _check(partition, passed=False, description="; ".join(reasons))
        case ForecastMismatched(partition=partition, forecast=forecast, stored=stored):
            text = f"stored {stored.rows} rows, forecast {forecast.rows}; rolled back"
            yield _check(partition, passed=False, description=text)
        case _:
            assert_never(outcome)


def publication_event(published: Publication | NothingToPublish) -> AssetObservation:
    """What readers of the date see from now on."""
    return AssetObservation(
        DEMAND_FORECAST,
        description=f"publication of {published.date}",
        metadata={"date": str(published.date), **publication_metadata(published)},
    )


def accuracy_events(measured: Accuracy | NotMeasured) -> Iterator[AssetMaterialization]:
    """A materialization for what was measured, and none where there was nothing to measure."""
    if isinstance(measured, NotMeasured):
        return
    metadata = accuracy_metadata(measured)
    yield _materialization(FORECAST_ACCURACY, measured.partition, measured.data_version, metadata)


def _materialization(
    key: AssetKey, partition: Partition, data_version: str, metadata: dict[str, RawMetadata]
) -> AssetMaterialization:
    found = dagster_key(partition)
    return AssetMaterialization(
        asset_key=key,
        partition=found,
        metadata=metadata,
        tags={
            DATA_VERSION_TAG: data_version,
            DATA_VERSION_IS_USER_PROVIDED_TAG: "true",
            **get_tags_from_multi_partition_key(found),
        },
    )


def _check(partition: Partition, *, passed: bool, description: str) -> AssetCheckEvaluation:
    return AssetCheckEvaluation(
        asset_key=DEMAND_FORECAST,
        check_name=FORECAST_COMPLETE,
        passed=passed,
        partition=dagster_key(partition),
        severity=AssetCheckSeverity.ERROR,
        description=description,
    )
