"""What Dagster is told of partitions that were rolled back: materializations of what stands."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from dagster import (
    AssetCheckEvaluation,
    AssetCheckSeverity,
    AssetMaterialization,
    DagsterEvent,
    DagsterEventType,
    EventLogEntry,
)
from dagster._core.definitions.data_version import DATA_VERSION_TAG
from dagster._core.definitions.partitions.utils import get_tags_from_multi_partition_key
from dagster._core.events import StepMaterializationData
from dagster._core.instance.utils import RUNLESS_JOB_NAME, RUNLESS_RUN_ID
from dagster_shared.record import copy

from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import OutputState
from forecast_backfill.dagster_defs.event_log import PartitionEventLog
from forecast_backfill.dagster_defs.events import (
    DAILY_DEMAND,
    RECONCILE_PARITY,
    dagster_key,
    version_tags,
)
from forecast_backfill.dagster_defs.metadata import RawMetadata, figures_metadata
from forecast_backfill.dagster_defs.partition_keys import format_key
from forecast_backfill.dagster_defs.storage import SharedPostgresStorage
from forecast_backfill.ports import LedgerRow

ABSENT = "absent"
"""The data version of a partition in which nothing stands. Dagster's open-source storage cannot
forget one partition, and the version of rows that are gone would be no truth."""

LOOKS = 3
Find = Callable[[Partition], LedgerRow | None]


def tell_of_rollback(
    campaign_id: str, back: Sequence[Partition], already: Sequence[Partition], find: Find
) -> int:
    """Tell Dagster of every partition that is back; how many it was told of.

    `back` were put back just now, `already` before: those only where Dagster says otherwise than
    the ledger, which `find` reads. Partitions that Dagster never materialized are not told.
    """
    storage = SharedPostgresStorage.from_config_value(None, {"should_autocreate_tables": False})
    try:
        log = storage.event_log_storage
        assert isinstance(log, PartitionEventLog), "the storage is ours"
        known = _known_versions(log, [*back, *already])
        fresh = [each for each in back if format_key(each) in known]
        others = [
            each
            for each in already
            if (version := known.get(format_key(each))) is not None
            and version != _version(find(each))
        ]
        for each in fresh:
            _tell(log, each, find, f"rolled back, campaign {campaign_id}", campaign_id)
        for each in others:
            _tell(log, each, find, _as_it_stands(campaign_id), campaign_id)
        return len(fresh) + len(others)
    finally:
        storage.event_log_storage.dispose()


def _tell(
    log: PartitionEventLog, partition: Partition, find: Find, outcome: str, campaign_id: str
) -> None:
    # Who writes it meanwhile tells Dagster too: the last word has to be of what stands.
    row = find(partition)
    for _ in range(LOOKS):
        _store(log, _events(partition, row, outcome))
        told, row = row, find(partition)
        if _version(told) == _version(row):
            return
        outcome = _as_it_stands(campaign_id)


def _as_it_stands(campaign_id: str) -> str:
    """Somebody may have written it since it was put back."""
    return f"as it stands after the rollback of campaign {campaign_id}"


def _known_versions(
    log: PartitionEventLog, partitions: Iterable[Partition]
) -> dict[str, str | None]:
    found = log.get_latest_tags_by_partition(
        DAILY_DEMAND,
        DagsterEventType.ASSET_MATERIALIZATION,
        [DATA_VERSION_TAG],
        asset_partitions=[format_key(each) for each in partitions],
    )
    return {key: tags.get(DATA_VERSION_TAG) for key, tags in found.items()}


def _version(row: LedgerRow | None) -> str:
    return ABSENT if row is None or row.fingerprint is None else row.fingerprint.data_version


def _events(
    partition: Partition, row: LedgerRow | None, outcome: str
) -> Iterator[AssetMaterialization | AssetCheckEvaluation]:
    """The materialization, and the verdict of the reconcile that a rollback ends with."""
    key = dagster_key(partition)
    code_version, is_absent = ABSENT, True
    reason = outcome
    metadata: dict[str, RawMetadata] = {"outcome": outcome, "output": OutputState.ABSENT.value}
    if row is not None and row.fingerprint is not None and row.identity is not None:
        code_version, is_absent = row.identity.code_version, False
        metadata |= figures_metadata(row.fingerprint) | {
            "output": row.output.value,
            "source_digest": row.identity.source_digest,
        }
    if is_absent:
        reason += ": nothing stood here before it, and nothing does now"
        metadata |= {"rows": 0, "dagster/partition_row_count": 0}
    yield AssetMaterialization(
        asset_key=DAILY_DEMAND,
        partition=key,
        description=reason,
        metadata=metadata,
        tags={
            **version_tags(_version(row), code_version),
            **get_tags_from_multi_partition_key(key),
        },
    )
    yield AssetCheckEvaluation(
        asset_key=DAILY_DEMAND,
        check_name=RECONCILE_PARITY,
        passed=not is_absent,
        partition=key,
        severity=AssetCheckSeverity.WARN,
        description=reason,
    )


def _store(
    log: PartitionEventLog, events: Iterable[AssetMaterialization | AssetCheckEvaluation]
) -> None:
    with log.one_transaction() as materialized:
        for event in events:
            if isinstance(event, AssetMaterialization):
                kind, data = DagsterEventType.ASSET_MATERIALIZATION, StepMaterializationData(event)
            else:
                kind = DagsterEventType.ASSET_CHECK_EVALUATION
                target = materialized[event.asset_key, event.partition]
                data = copy(event, target_materialization_data=target)
            log.store_event(
                EventLogEntry(
                    error_info=None,
                    user_message="",
                    level=logging.INFO,
                    run_id=RUNLESS_RUN_ID,
                    job_name=RUNLESS_JOB_NAME,
                    timestamp=time.time(),
                    dagster_event=DagsterEvent(
                        event_type_value=kind.value,
                        job_name=RUNLESS_JOB_NAME,
                        event_specific_data=data,
                    ),
                )
            )
