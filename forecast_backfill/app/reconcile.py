"""Proves stored partitions anew without running them: source, warehouse and ledger as witnesses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from forecast_backfill.app.localise import PartitionSide, RowsAtHand, localise_partition
from forecast_backfill.core.digest_tree import (
    Digest,
    RowDifference,
    RowDigest,
    explain,
    kind_of,
)
from forecast_backfill.core.fingerprint import Fingerprint
from forecast_backfill.core.parity import Mismatch, MismatchKind, compare
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import OutputState, PartitionStatus
from forecast_backfill.ports import (
    Engine,
    Landing,
    LedgerRow,
    OutputIdentity,
    Prepared,
    Rejected,
    Rows,
)


class StoredView(PartitionSide, Protocol):
    """What is stored of partitions, and what the ledger says of it, as of one moment."""

    def ledger(self, partition: Partition) -> LedgerRow | None: ...

    def fingerprint(self, partition: Partition) -> Fingerprint: ...

    def canonical_rows(self, partition: Partition) -> Sequence[str]:
        """Every row's key and values as text, sorted."""
        ...


class Stored(Protocol):
    """Read-only access to the warehouse and its ledger."""

    def view(self) -> AbstractContextManager[StoredView]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofPorts:
    """What a proof is handed; `row_digests` reads keys and hashes out of an engine's rows."""

    landing: Landing
    engine: Engine
    stored: Stored
    row_digests: Callable[[Rows], Sequence[RowDigest]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proved:
    """Source, warehouse and ledger agree."""

    partition: Partition
    fingerprint: Fingerprint


@dataclass(frozen=True, slots=True, kw_only=True)
class Differs:
    """What is stored is not what it should be.

    `witness` says which of the three stands alone; `rows` names the first differing keys and
    `differing` counts all of them (0 where rows cannot be named: the source is refused, or the
    rows agree and only the totals or the ledger do not).
    """

    partition: Partition
    kind: MismatchKind
    reason: str
    witness: str
    rows: tuple[RowDifference, ...] = ()
    differing: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Unproved:
    """Nothing is wrong with what is stored, but it is not what the source gives now."""

    partition: Partition
    reason: str


Verdict = Proved | Differs | Unproved


def reconcile(
    partitions: Iterable[Partition], *, ports: ProofPorts, tell: Callable[[Verdict], None]
) -> list[Verdict]:
    """Prove each partition and tell its verdict at once; nothing is written anywhere.

    What does not agree is looked at twice: somebody may have been writing it. Raises
    LandingIncomplete where a dimension that every partition needs is absent.
    """
    verdicts: list[Verdict] = []
    for partition in partitions:
        verdict = prove_partition(partition, ports=ports)
        if not isinstance(verdict, Proved):
            verdict = prove_partition(partition, ports=ports)
        tell(verdict)
        verdicts.append(verdict)
    return verdicts


def prove_partition(partition: Partition, *, ports: ProofPorts) -> Verdict:
    """Compare what the landed source gives with what is stored and what the ledger recorded."""
    source = ports.landing.read(partition)
    dimensions = ports.landing.dimensions(partition)
    identity = OutputIdentity(
        source_digest=source.digest,
        code_version=ports.engine.code_version,
        dimension_version=dimensions.version,
    )
    prepared = ports.engine.prepare(source, dimensions)
    with ports.stored.view() as view:
        row, stored = view.ledger(partition), view.fingerprint(partition)
        recorded = None if row is None else row.fingerprint
        if isinstance(prepared, Rejected):
            return _without_source(partition, prepared, recorded, stored)
        if row is None or row.output is OutputState.ABSENT:
            if not stored.rows:
                is_back = row is not None and row.status is PartitionStatus.ROLLED_BACK
                reason = "it was rolled back to nothing" if is_back else "it was never built"
                return Unproved(partition=partition, reason=reason)
            return _localised(partition, prepared, recorded, stored, view, ports)
        if prepared.fingerprint == stored:
            return _with_totals(partition, prepared, recorded, stored)
        if recorded == stored and row.is_merged:
            # One source cannot say what the rows of two writers are.
            reason = "stored as recorded, merged from two writers; reconcile --seam audits it"
            return Unproved(partition=partition, reason=reason)
        if recorded == stored and row.identity != identity:
            changed = _changed(row.identity, identity)
            return Unproved(
                partition=partition, reason=f"stored as recorded, but {changed} changed since"
            )
        return _localised(partition, prepared, recorded, stored, view, ports)


def digest_of(fingerprint: Fingerprint) -> Digest:
    """Rows and checksum of a fingerprint."""
    return Digest(rows=fingerprint.rows, checksum=fingerprint.checksum)


def _without_source(
    partition: Partition, rejected: Rejected, recorded: Fingerprint | None, stored: Fingerprint
) -> Differs | Unproved:
    if recorded == stored or (recorded is None and not stored.rows):
        what = "stored as recorded" if recorded is not None else "nothing is stored"
        reason = f"{what}, but the source is refused now: {rejected.report.summary}"
        return Unproved(partition=partition, reason=reason)
    expected = Digest(rows=0, checksum=0) if recorded is None else digest_of(recorded)
    found = digest_of(stored)
    return Differs(
        partition=partition,
        kind=kind_of(expected, found),
        reason=explain(expected, found),
        witness="stored rows are not those recorded, and the source is refused now: "
        + rejected.report.summary,
    )


def _with_totals(
    partition: Partition, prepared: Prepared, recorded: Fingerprint | None, stored: Fingerprint
) -> Proved | Differs:
    """Source and warehouse agree on the rows: what of the manifest's totals and the ledger?"""
    result = compare(
        read=prepared.fingerprint,
        stored=stored,
        totals=prepared.totals,
        exclusions=prepared.exclusions,
    )
    if isinstance(result, Mismatch):
        return Differs(
            partition=partition,
            kind=result.kind,
            reason=result.reason,
            witness="the manifest says otherwise than the lines beside it",
        )
    if recorded is not None and recorded != stored:
        expected, found = digest_of(recorded), digest_of(stored)
        return Differs(
            partition=partition,
            kind=kind_of(expected, found),
            reason=f"source and warehouse agree; recorded are {recorded.rows} rows, "
            f"stored {stored.rows}",
            witness="the ledger stands alone",
        )
    return Proved(partition=partition, fingerprint=stored)


def _localised(
    partition: Partition,
    prepared: Prepared,
    recorded: Fingerprint | None,
    stored: Fingerprint,
    view: StoredView,
    ports: ProofPorts,
) -> Differs:
    digests = (digest_of(prepared.fingerprint), digest_of(stored))
    difference = localise_partition(
        partition,
        expected=RowsAtHand(all_rows=ports.row_digests(prepared.rows)),
        found=view,
        digests=digests,
    )
    return Differs(
        partition=partition,
        kind=difference.kind,
        reason=difference.reason,
        witness=_witness(prepared.fingerprint, stored, recorded),
        rows=difference.rows,
        differing=difference.differing,
    )


def _witness(source: Fingerprint, stored: Fingerprint, recorded: Fingerprint | None) -> str:
    if recorded is None:
        return "the ledger knows of no output: a foreign writer stored these rows"
    if recorded == source:
        return "source and ledger agree: the stored rows were changed since they were committed"
    if recorded == stored:
        return "warehouse and ledger agree: the same source gives other rows now"
    return "source, warehouse and ledger all differ"


def _changed(before: OutputIdentity | None, now: OutputIdentity) -> str:
    if before is None:
        return "everything"
    names = {
        "source": before.source_digest != now.source_digest,
        "code": before.code_version != now.code_version,
        "dimensions": before.dimension_version != now.dimension_version,
    }
    return ", ".join(name for name, differs in names.items() if differs)
