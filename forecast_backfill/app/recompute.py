"""Recomputes done partitions from their landed sources and compares every byte of every row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from forecast_backfill.app.reconcile import ProofPorts
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import OutputState, PartitionStatus
from forecast_backfill.ports import LandedSource, OutputIdentity, Prepared, Rejected

KEPT_TEXTS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Same:
    """The recomputed rows are the stored ones, byte for byte."""

    partition: Partition
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Different:
    """The same source, code and dimensions gave other rows; the first texts of either side."""

    partition: Partition
    recomputed: int
    stored: int
    only_recomputed: tuple[str, ...]
    only_stored: tuple[str, ...]

    @property
    def reason(self) -> str:
        """The difference in one line."""
        shown = f"recomputed {self.recomputed} rows, stored {self.stored}"
        for name, texts in (
            ("only recomputed", self.only_recomputed),
            ("only stored", self.only_stored),
        ):
            if texts:
                shown += f"; {name}: {texts[0]}"
        return shown


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRecomputed:
    """It proves nothing: what it was made of is no longer there as it was."""

    partition: Partition
    reason: str


Proof = Same | Different | NotRecomputed


class ProofRecord(Protocol):
    """Where proofs are kept; they are added and never changed."""

    def add(self, partition: Partition, *, rows: int, by: str, difference: str | None) -> None:
        """Keep one proof; `difference` is None where every byte is the same."""
        ...


def prove(
    candidates: Iterable[Partition],
    *,
    count: int,
    by: str,
    ports: ProofPorts,
    canonical_rows: Callable[[Prepared, Partition], Sequence[str]],
    record: ProofRecord,
) -> list[Proof]:
    """Recompute `count` of the candidates, in their order, and record what each came to.

    One whose source, code or dimensions have changed since is reported and does not count. `by` is
    who asks. Raises LandingIncomplete where a dimension that every partition needs is absent.
    """
    proofs: list[Proof] = []
    left = count
    for partition in candidates:
        if not left:
            break
        proof = recompute(partition, ports=ports, canonical_rows=canonical_rows)
        if isinstance(proof, Different):
            # Somebody may have been writing it.
            proof = recompute(partition, ports=ports, canonical_rows=canonical_rows)
        proofs.append(proof)
        match proof:
            case Same(rows=rows):
                record.add(partition, rows=rows, by=by, difference=None)
            case Different(stored=rows, reason=reason):
                record.add(partition, rows=rows, by=by, difference=reason)
            case NotRecomputed():
                continue
        left -= 1
    return proofs


def recompute(
    partition: Partition,
    *,
    ports: ProofPorts,
    canonical_rows: Callable[[Prepared, Partition], Sequence[str]],
) -> Proof:
    """Recompute one partition and compare it with what is stored."""
    source = ports.landing.read(partition)
    dimensions = ports.landing.dimensions(partition)
    identity = _identity(source, dimensions.version, ports.engine.code_version)
    with ports.stored.view() as view:
        row = view.ledger(partition)
        if row is None or row.status is not PartitionStatus.DONE:
            return NotRecomputed(partition=partition, reason="it is not done")
        if row.is_merged:
            return NotRecomputed(partition=partition, reason="it was merged from two writers")
        if row.output is not OutputState.CURRENT or row.identity != identity:
            reason = "its source, code or dimensions have changed since"
            return NotRecomputed(partition=partition, reason=reason)
        stored = view.canonical_rows(partition)
    prepared = ports.engine.prepare(source, dimensions)
    if isinstance(prepared, Rejected):
        summary = f"(the source is refused: {prepared.report.summary})"
        return _judge(partition, (), stored, also=(summary,))
    return _judge(partition, canonical_rows(prepared, partition), stored)


def _judge(
    partition: Partition,
    recomputed: Sequence[str],
    stored: Sequence[str],
    also: tuple[str, ...] = (),
) -> Same | Different:
    ours, theirs = Counter(recomputed), Counter(stored)
    if ours == theirs and not also:
        return Same(partition=partition, rows=len(stored))
    return Different(
        partition=partition,
        recomputed=len(recomputed),
        stored=len(stored),
        only_recomputed=(also + tuple(sorted((ours - theirs).elements())))[:KEPT_TEXTS],
        only_stored=tuple(sorted((theirs - ours).elements()))[:KEPT_TEXTS],
    )


def _identity(source: LandedSource, dimension_version: str, code_version: str) -> OutputIdentity:
    return OutputIdentity(
        source_digest=source.digest,
        code_version=code_version,
        dimension_version=dimension_version,
    )
