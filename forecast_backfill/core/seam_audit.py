"""The seam audit: every key exactly once, the winner stays, gaps and overlaps named by date."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date as Date
from enum import StrEnum

from forecast_backfill.core.partition import DateRange, Partition, partitions_of
from forecast_backfill.core.seam import owner_of
from forecast_backfill.core.states import OutputState, PartitionStatus, Workload
from forecast_backfill.core.version import Authority, Version

Statement = tuple[Authority, int]
"""What a row carries of its version: authority and source version."""
NAMED_REGIONS = 5


class FindingKind(StrEnum):
    """What can be found where backfill meets live."""

    GAP = "gap"
    OVERLAP = "overlap"
    DUPLICATE_KEYS = "duplicate_keys"
    LOSER_STAYED = "loser_stayed"
    UNRECORDED_ROWS = "unrecorded_rows"
    ROW_COUNT = "row_count"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What the ledger says of a partition; `claims` are the statements that overlaps recorded."""

    status: PartitionStatus
    output: OutputState
    rows: int
    version: Version | None
    is_merged: bool
    claims: Sequence[Version] = ()
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredKeys:
    """What the target holds of a partition: how many keys, and how many rows of each statement."""

    keys: int
    rows: Mapping[Statement, int]

    @property
    def total(self) -> int:
        """Rows in all."""
        return sum(self.rows.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class SeamSides:
    """What is recorded and what is stored of the partitions of a range, as of one moment."""

    recorded: Mapping[Partition, Recorded]
    stored: Mapping[Partition, StoredKeys]


NOTHING_STORED = StoredKeys(keys=0, rows={})


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something about one date. `is_explained`: it is recorded as meant, and no fault."""

    date: Date
    kind: FindingKind
    owner: Workload
    regions: tuple[str, ...]
    reason: str
    is_explained: bool = False

    def __str__(self) -> str:
        shown = ", ".join(self.regions[:NAMED_REGIONS])
        more = len(self.regions) - NAMED_REGIONS
        return f"{self.date} {self.kind} {shown}{f' and {more} more' if more > 0 else ''}: " + (
            self.reason
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SeamAudit:
    """What an audit of a range came to."""

    dates: DateRange
    seam: Date
    partitions: int
    keys: int
    findings: tuple[Finding, ...]

    @property
    def faults(self) -> tuple[Finding, ...]:
        """The findings that nothing explains."""
        return tuple(each for each in self.findings if not each.is_explained)

    @property
    def is_sound(self) -> bool:
        """Whether every key is there exactly once and the winner is what is stored."""
        return not self.faults


@dataclass(slots=True)
class _Groups:
    """Collects findings a region and joins those of one date that say the same."""

    seam: Date
    found: dict[tuple[Date, FindingKind, str, bool], list[str]] = field(
        default_factory=dict[tuple[Date, FindingKind, str, bool], list[str]]
    )

    def add(self, partition: Partition, kind: FindingKind, reason: str, *, explained: bool) -> None:
        key = (partition.date, kind, reason, explained)
        self.found.setdefault(key, []).append(partition.region)

    def findings(self) -> tuple[Finding, ...]:
        return tuple(
            Finding(
                date=day,
                kind=kind,
                owner=owner_of(day, seam=self.seam),
                regions=tuple(regions),
                reason=reason,
                is_explained=explained,
            )
            for (day, kind, reason, explained), regions in sorted(
                self.found.items(), key=lambda each: (each[0][0], each[0][1], each[1])
            )
        )


def audit(
    *,
    dates: DateRange,
    regions: Sequence[str],
    seam: Date,
    sides: SeamSides,
) -> SeamAudit:
    """Judge every partition of `dates` × `regions` by what is recorded and what is stored."""
    groups = _Groups(seam=seam)
    keys = partitions = 0
    for partition in partitions_of(dates, list(regions)):
        partitions += 1
        here = sides.stored.get(partition, NOTHING_STORED)
        keys += here.keys
        for kind, reason, explained in _judge(partition, sides.recorded.get(partition), here, seam):
            groups.add(partition, kind, reason, explained=explained)
    return SeamAudit(
        dates=dates, seam=seam, partitions=partitions, keys=keys, findings=groups.findings()
    )


_Found = tuple[FindingKind, str, bool]


def _judge(
    partition: Partition, recorded: Recorded | None, stored: StoredKeys, seam: Date
) -> Iterator[_Found]:
    if stored.total != stored.keys:
        more = stored.total - stored.keys
        yield FindingKind.DUPLICATE_KEYS, f"{more} rows more than keys", False
    if recorded is None or recorded.output is OutputState.ABSENT:
        yield from _without_output(partition, recorded, stored, seam)
        return
    if stored.total != recorded.rows:
        reason = f"the ledger says {recorded.rows} rows, {stored.total} are stored"
        yield FindingKind.ROW_COUNT, reason, False
    yield from _survivors(recorded, stored)
    yield from _overlap(partition, recorded, stored, seam)


def _without_output(
    partition: Partition, recorded: Recorded | None, stored: StoredKeys, seam: Date
) -> Iterator[_Found]:
    if stored.total:
        reason = f"{stored.total} rows of which the ledger knows nothing"
        yield FindingKind.UNRECORDED_ROWS, reason, False
        return
    owner = owner_of(partition.date, seam=seam)
    if recorded is not None and recorded.status is PartitionStatus.QUARANTINED:
        yield FindingKind.GAP, f"{owner} owns it; quarantined: {recorded.reason}", True
    else:
        status = "never written" if recorded is None else f"the last attempt is {recorded.status}"
        yield FindingKind.GAP, f"{owner} owns it; {status}", False


def _survivors(recorded: Recorded, stored: StoredKeys) -> Iterator[_Found]:
    """Whether what is stored is of the highest version that is recorded, and of no other."""
    known = [version for version in (recorded.version, *recorded.claims) if version is not None]
    winner = max(known)
    due = (winner.authority, winner.source_version)
    for statement, rows in sorted(stored.rows.items()):
        if statement == due:
            continue
        version = Version(authority=statement[0], source_version=statement[1])
        shown = f"{rows} rows of {_name(version)}"
        if version < winner:
            reason = f"{shown} stayed where {_name(winner)} has won"
            yield FindingKind.LOSER_STAYED, reason, False
        else:
            yield FindingKind.UNRECORDED_ROWS, f"{shown}, which nobody has recorded", False


def _overlap(
    partition: Partition, recorded: Recorded, stored: StoredKeys, seam: Date
) -> Iterator[_Found]:
    """A campaign's rows on nightly's side, or a partition that several have stated."""
    is_nightlys = owner_of(partition.date, seam=seam) is Workload.NIGHTLY
    foreign = sorted(
        {each.name.lower() for each, _ in stored.rows if each is not Authority.LIVE}
        if is_nightlys
        else ()
    )
    if recorded.is_merged:
        stated = ", ".join(sorted({_name(each) for each in recorded.claims})) or "nobody"
        yield FindingKind.OVERLAP, f"merged as recorded; stated by {stated}", True
    elif foreign:
        reason = f"rows of {' and '.join(foreign)} on a date of nightly, without a recorded merge"
        yield FindingKind.OVERLAP, reason, False


def _name(version: Version) -> str:
    return f"{version.authority.name.lower()} {version.source_version}"
