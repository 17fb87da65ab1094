"""The manifest of an export: what its folder holds, as of when, and what was left out."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from datetime import date as Date
from enum import StrEnum
from typing import Any, cast

from forecast_backfill.core.export import LeftOut, Wanted
from forecast_backfill.core.partition import Partition

FORMAT = "forecast-backfill export 1"
BEGUN = "an export of it was begun and is not ended"


class ExportState(StrEnum):
    """`under_way`: begun and not ended, now or by a crash; each partition is whole all the same."""

    UNDER_WAY = "under_way"
    COMPLETE = "complete"
    INCOMPLETE = "incomplete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A partition in the manifest, as of when it was exported or found unchanged.

    `left_out` is the reason where there is no file of it; else `rows` and `data_version` are what
    its file holds.
    """

    partition: Partition
    as_of: datetime
    rows: int = 0
    data_version: str = ""
    left_out: str | None = None

    def __post_init__(self) -> None:
        if (self.left_out is None) != bool(self.data_version):
            raise ValueError(f"{self.partition} has a file and a reason to have none, or neither")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportManifest:
    """What a folder holds; `as_of` is the instant of the last export into it.

    What another range has left there may be older: each partition says as of when it is.
    """

    state: ExportState
    as_of: datetime
    listed: tuple[Listed, ...]

    @property
    def exported(self) -> frozenset[Partition]:
        """The partitions of which a file is listed."""
        return frozenset(each.partition for each in self.listed if each.left_out is None)

    @property
    def oldest_as_of(self) -> datetime:
        """Nothing that is listed is older."""
        return min((each.as_of for each in self.listed), default=self.as_of)

    def without(self, partitions: Collection[Partition]) -> tuple[Listed, ...]:
        """What is listed of other partitions."""
        return tuple(each for each in self.listed if each.partition not in partitions)


def under_way(
    earlier: ExportManifest | None, partitions: Collection[Partition], as_of: datetime
) -> ExportManifest:
    """The manifest while `partitions` are exported: what their files hold is open."""
    kept = () if earlier is None else earlier.without(partitions)
    at_work = (Listed(partition=each, as_of=as_of, left_out=BEGUN) for each in partitions)
    listed = sorted((*kept, *at_work), key=lambda each: each.partition)
    return ExportManifest(state=ExportState.UNDER_WAY, as_of=as_of, listed=tuple(listed))


def ended(
    earlier: ExportManifest | None, found: Iterable[Wanted | LeftOut], as_of: datetime
) -> ExportManifest:
    """The manifest of what was found, beside what is listed of other partitions."""
    new = {each.partition: _listed(each, as_of) for each in found}
    kept = () if earlier is None else earlier.without(new.keys())
    listed = sorted((*kept, *new.values()), key=lambda each: each.partition)
    is_complete = all(each.left_out is None for each in listed)
    state = ExportState.COMPLETE if is_complete else ExportState.INCOMPLETE
    return ExportManifest(state=state, as_of=as_of, listed=tuple(listed))


def unlisted(earlier: ExportManifest | None, files: Collection[Partition]) -> frozenset[Partition]:
    """Partitions whose file no manifest lists, or whose listed file is gone.

    An export that broke off leaves such ones; the next one does them along.
    """
    listed = frozenset[Partition]() if earlier is None else earlier.exported
    return listed ^ frozenset(files)


def written_manifest(manifest: ExportManifest) -> str:
    """The manifest as JSON."""
    exported = [each for each in manifest.listed if each.left_out is None]
    missing = [each for each in manifest.listed if each.left_out is not None]
    fields = {
        "format": FORMAT,
        "state": manifest.state.value,
        "as_of": _instant(manifest.as_of),
        "oldest_as_of": _instant(manifest.oldest_as_of),
        "partitions": [
            {**_key(each), "rows": each.rows, "data_version": each.data_version}
            for each in exported
        ],
        "left_out": [{**_key(each), "reason": each.left_out} for each in missing],
    }
    return json.dumps(fields, indent=1) + "\n"


def read_manifest(text: str) -> ExportManifest:
    """The manifest that was written as JSON. Raises ValueError where it is not one."""
    try:
        fields = cast("dict[str, Any]", json.loads(text))
        if fields["format"] != FORMAT:
            raise ValueError(f"its format is {fields['format']!r}, not {FORMAT!r}")
        listed = [
            Listed(rows=each["rows"], data_version=each["data_version"], **_read_key(each))
            for each in fields["partitions"]
        ]
        listed += [
            Listed(left_out=each["reason"], **_read_key(each)) for each in fields["left_out"]
        ]
        return ExportManifest(
            state=ExportState(fields["state"]),
            as_of=datetime.fromisoformat(fields["as_of"]),
            listed=tuple(sorted(listed, key=lambda each: each.partition)),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"a field is missing or odd ({type(error).__name__}: {error})") from error


def _listed(found: Wanted | LeftOut, as_of: datetime) -> Listed:
    if isinstance(found, LeftOut):
        return Listed(partition=found.partition, as_of=as_of, left_out=found.reason)
    return Listed(
        partition=found.partition,
        as_of=as_of,
        rows=found.fingerprint.rows,
        data_version=found.fingerprint.data_version,
    )


def _key(listed: Listed) -> dict[str, str]:
    return {
        "date": listed.partition.date.isoformat(),
        "region": listed.partition.region,
        "as_of": _instant(listed.as_of),
    }


def _instant(instant: datetime) -> str:
    return instant.astimezone(UTC).isoformat()


def _read_key(fields: dict[str, Any]) -> dict[str, Any]:
    day = Date.fromisoformat(fields["date"])
    return {
        "partition": Partition(date=day, region=fields["region"]),
        "as_of": datetime.fromisoformat(fields["as_of"]),
    }
