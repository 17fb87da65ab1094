"""Which partitions a run was asked for, with a guard against a run that would do the wrong ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date as Date

from dagster import DailyPartitionsDefinition, MultiPartitionsDefinition, PartitionKeyRange

from forecast_backfill.core.errors import ForecastBackfillError
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import Workload
from forecast_backfill.core.version import Winner
from forecast_backfill.dagster_defs.partition_keys import parse_key
from forecast_backfill.dagster_defs.tags import (
    OVERLAP_TAG,
    RANGE_END_TAG,
    RANGE_START_TAG,
    SINGLE_PARTITION_TAG,
    WINNER_TAG,
    WORKLOAD_TAG,
)


class BatchRefused(ForecastBackfillError):
    """The run's tags and its partition keys do not say the same; nothing was written."""

    def __init__(self, why: str) -> None:
        super().__init__(
            "the run's partitions were refused",
            why=why,
            next_command="forecast-backfill backfill --from … --to … (launches an asset backfill)",
        )


def batch_of(
    tags: Mapping[str, str], keys: Sequence[str], definition: MultiPartitionsDefinition
) -> list[Partition]:
    """The run's partitions, by date and then by region.

    Dagster can hand a batched asset other keys than the run's tags name, and report success for
    the tags' keys. Raises BatchRefused where the two differ, are empty, or are named twice.
    """
    return sorted(parse_key(key) for key in _checked_keys(tags, keys, definition))


def dates_of(
    tags: Mapping[str, str], keys: Sequence[str], definition: DailyPartitionsDefinition
) -> list[Date]:
    """The dates of a run over an asset that is partitioned by date, with the same guard."""
    return sorted(Date.fromisoformat(key) for key in _checked_keys(tags, keys, definition))


def workload_of(tags: Mapping[str, str]) -> Workload:
    """Nightly where the run says so, else backfill."""
    is_nightly = tags.get(WORKLOAD_TAG) == Workload.NIGHTLY.value
    return Workload.NIGHTLY if is_nightly else Workload.BACKFILL


def winner_of(tags: Mapping[str, str]) -> Winner | None:
    """Whose rows stay where a campaign overlaps nightly; None without an overlap.

    Raises BatchRefused where the winner is unknown, or where nightly asks for one.
    """
    asked = tags.get(WINNER_TAG) or (Winner.LIVE.value if tags.get(OVERLAP_TAG) == "true" else None)
    if asked is None:
        return None
    if workload_of(tags) is Workload.NIGHTLY:
        raise BatchRefused("a nightly run carries the tags of an overlap; nightly is always live")
    if asked not in {each.value for each in Winner}:
        raise BatchRefused(f"the tag {WINNER_TAG} is {asked!r}; it may be live or correction")
    return Winner(asked)


def _checked_keys(
    tags: Mapping[str, str],
    keys: Sequence[str],
    definition: MultiPartitionsDefinition | DailyPartitionsDefinition,
) -> Sequence[str]:
    wanted = _keys_in_tags(tags, definition)
    if not keys:
        raise BatchRefused("the run names no partition")
    if len(set(keys)) != len(keys) or set(keys) != set(wanted):
        raise BatchRefused(
            f"its tags name {len(wanted)} partitions ({wanted[0]} … {wanted[-1]}), "
            f"but it would process {len(keys)} ({keys[0]} … {keys[-1]})"
        )
    return keys


def _keys_in_tags(
    tags: Mapping[str, str], definition: MultiPartitionsDefinition | DailyPartitionsDefinition
) -> list[str]:
    start, end, single = (
        tags.get(name) for name in (RANGE_START_TAG, RANGE_END_TAG, SINGLE_PARTITION_TAG)
    )
    if (start is None) != (end is None):
        raise BatchRefused("only one end of the partition range is among the run's tags")
    if start is not None and end is not None:
        if single is not None:
            raise BatchRefused(f"the tags name a range and the single partition {single}")
        found = definition.get_partition_keys_in_range(PartitionKeyRange(start, end))
        if not found:
            raise BatchRefused(f"the range {start} … {end} holds no partition")
        return [str(key) for key in found]
    if single is None:
        raise BatchRefused("neither a partition nor a range is among the run's tags")
    return [single]
