"""What the seam audit compares: ledger, claims and stored versions of a range, in one snapshot."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from forecast_backfill.core.partition import DateRange, Partition
from forecast_backfill.core.seam_audit import Recorded, SeamSides, Statement, StoredKeys
from forecast_backfill.core.states import OutputState, PartitionStatus
from forecast_backfill.core.version import Authority, Version
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.statements import statements


class PostgresSeamRecords:
    """Ledger, claims and rows over one session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def read(self, dates: DateRange, regions: Sequence[str]) -> SeamSides:
        """Both sides as of one moment."""
        asked = {"start": dates.start, "end": dates.end, "regions": list(regions)}
        with self._session.transaction() as connection:
            statements().seam_snapshot(connection)
            return SeamSides(
                recorded=read_recorded(connection, asked), stored=_stored(connection, asked)
            )


def read_recorded(connection: Any, asked: dict[str, Any]) -> dict[Partition, Recorded]:
    """What ledger and claims say of the partitions of `start`, `end` and `regions`."""
    claims: dict[Partition, list[Version]] = defaultdict(list)
    for row in statements().seam_claims(connection, **asked):
        claims[_partition(row)].append(
            Version(
                authority=Authority(row["authority"]),
                source_version=row["source_version"],
                revision=row["revision"],
            )
        )
    return {
        _partition(row): _recorded_of(row, claims.get(_partition(row), []))
        for row in statements().seam_ledger(connection, **asked)
    }


def _recorded_of(row: Mapping[str, Any], claims: Sequence[Version]) -> Recorded:
    output = OutputState(row["output"])
    version = None
    if output is not OutputState.ABSENT:
        version = Version(
            authority=Authority(row["output_authority"]),
            source_version=row["output_source_version"],
            revision=row["output_revision"],
        )
    return Recorded(
        status=PartitionStatus(row["status"]),
        output=output,
        rows=row["rows"],
        version=version,
        is_merged=row["is_merged"],
        claims=tuple(claims),
        reason=row["reason"],
    )


def _stored(connection: Any, asked: dict[str, Any]) -> dict[Partition, StoredKeys]:
    rows: dict[Partition, dict[Statement, int]] = defaultdict(dict)
    for row in statements().seam_rows(connection, **asked):
        statement = Authority(row["authority"]), row["source_version"]
        rows[_partition(row)][statement] = row["rows"]
    # Where the key is enforced every row is a key; where it is not, keys are counted one by one.
    if statements().seam_is_keyed(connection)["is_keyed"]:
        keys = {partition: sum(each.values()) for partition, each in rows.items()}
    else:
        found = statements().seam_keys(connection, **asked)
        keys = {_partition(row): row["keys"] for row in found}
    return {
        partition: StoredKeys(keys=keys[partition], rows=each) for partition, each in rows.items()
    }


def _partition(row: Mapping[str, Any]) -> Partition:
    return Partition(date=row["date"], region=row["region"])
