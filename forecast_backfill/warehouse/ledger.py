"""The ledger in PostgreSQL: guarded moves between states, each with its event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from psycopg.types.json import Jsonb

from forecast_backfill.core.errors import TransitionRefused
from forecast_backfill.core.fingerprint import Fingerprint
from forecast_backfill.core.parity import Mismatch
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.source import FaultReport
from forecast_backfill.core.states import OutputState, PartitionStatus, sources_of
from forecast_backfill.core.version import Authority
from forecast_backfill.ports import LedgerRow, OutputIdentity, RunRequest
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.statements import statements


class PostgresLedger:
    """One row a partition and an append-only history, over one session.

    A running row belongs to the run that started it last: an older run that comes back late finds
    its move refused, even where the arrow exists.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def find(self, partition: Partition) -> LedgerRow | None:
        """The partition as the ledger has it; None where it was never attempted."""
        with self._session.use() as connection:
            row = statements().find_partition(
                connection, date=partition.date, region=partition.region
            )
        return None if row is None else _ledger_row(partition, row)

    def start(self, partition: Partition, request: RunRequest) -> LedgerRow:
        """Move to running and count the attempt."""
        with self._session.use() as connection:
            row = statements().start_partition(
                connection,
                date=partition.date,
                region=partition.region,
                workload=request.workload,
                run_id=request.run_id,
                campaign_id=request.campaign_id,
                epoch=request.epoch,
                sources=list(sources_of(PartitionStatus.RUNNING)),
            )
        if row is None:
            raise refused_move(partition, PartitionStatus.RUNNING, request)
        return _ledger_row(partition, row)

    def unchanged(self, partition: Partition, request: RunRequest) -> None:
        """Record that nothing had to be done."""
        self._add_event(partition, request, "unchanged", None)

    def refuse(self, partition: Partition, request: RunRequest, *, reason: str) -> None:
        """Record a refusal as an event; the ledger row is left alone."""
        self._add_event(partition, request, "refused", {"reason": reason})

    def quarantine(
        self,
        partition: Partition,
        request: RunRequest,
        *,
        report: FaultReport,
        source_digest: str,
        seconds: float,
    ) -> None:
        """Move to quarantined, mark an older output stale, and keep the faults."""
        detail = {
            "summary": report.summary,
            "fault_total": report.total,
            "source_digest": source_digest,
        }
        target = PartitionStatus.QUARANTINED
        with self._session.transaction() as connection:
            self._end(connection, partition, request, target, report.summary, seconds, detail)
            _open_quarantine(connection, partition, request, report, source_digest)

    def quarantine_beside(
        self, partition: Partition, request: RunRequest, *, report: FaultReport, source_digest: str
    ) -> None:
        """Keep the faults that a guest has found; status and output are the owner's to change."""
        self.note_beside(
            partition, request, status=PartitionStatus.QUARANTINED, reason=report.summary
        )
        with self._session.use() as connection:
            _open_quarantine(connection, partition, request, report, source_digest)

    def mismatch(
        self, partition: Partition, request: RunRequest, *, mismatch: Mismatch, seconds: float
    ) -> None:
        """Move to mismatched and record both sides."""
        detail = {
            "kind": mismatch.kind,
            "reason": mismatch.reason,
            "read": asdict(mismatch.read),
            "stored": asdict(mismatch.stored),
        }
        target = PartitionStatus.MISMATCHED
        reason = f"{mismatch.kind}: {mismatch.reason}"
        with self._session.use() as connection:
            self._end(connection, partition, request, target, reason, seconds, detail)

    def fail(self, partition: Partition, request: RunRequest, *, reason: str) -> None:
        """Move to failed where this run has the partition running; record the event always."""
        detail = {"reason": reason}
        with self._session.use() as connection:
            row = _end_row(
                connection, partition, request, PartitionStatus.FAILED, reason, None, detail
            )
        if row is None:
            self._add_event(partition, request, "failed", detail)

    def find_claim(self, partition: Partition, authority: Authority) -> OutputIdentity | None:
        """What the authority's highest statement about a merged partition was made from."""
        with self._session.use() as connection:
            row = statements().merge_find_claim(
                connection, date=partition.date, region=partition.region, authority=int(authority)
            )
        return None if row is None else OutputIdentity(**row)

    def note_beside(
        self, partition: Partition, request: RunRequest, *, status: PartitionStatus, reason: str
    ) -> None:
        """Record what became of an attempt beside the owner, as an event; the row is its owner's.

        Running says that it has begun.
        """
        if status is PartitionStatus.RUNNING:
            self._add_event(partition, request, "started", {"beside": True})
        else:
            self._add_event(partition, request, status, {"reason": reason, "summary": reason})

    def _end(
        self,
        connection: Any,
        partition: Partition,
        request: RunRequest,
        target: PartitionStatus,
        reason: str,
        seconds: float,
        detail: Mapping[str, Any],
    ) -> None:
        row = _end_row(connection, partition, request, target, reason, seconds, detail)
        if row is None:
            raise refused_move(partition, target, request)

    def _add_event(
        self,
        partition: Partition,
        request: RunRequest,
        kind: str,
        detail: Mapping[str, Any] | None,
    ) -> None:
        with self._session.use() as connection:
            statements().add_event(
                connection,
                date=partition.date,
                region=partition.region,
                kind=kind,
                workload=request.workload,
                run_id=request.run_id,
                campaign_id=request.campaign_id,
                detail=None if detail is None else Jsonb(_without_nul(detail)),
            )


def refused_move(
    partition: Partition, target: PartitionStatus, request: RunRequest
) -> TransitionRefused:
    """The error of a guarded update that changed no row."""
    sources = ", ".join(sources_of(target))
    return TransitionRefused(
        f"the ledger refused to move to {target}",
        why=f"the partition is not {sources} under run {request.run_id}: another run took it over "
        "or ended it",
        next_command="forecast-backfill status",
        partition=partition,
    )


def _open_quarantine(
    connection: Any,
    partition: Partition,
    request: RunRequest,
    report: FaultReport,
    source_digest: str,
) -> None:
    statements().open_quarantine(
        connection,
        date=partition.date,
        region=partition.region,
        source_digest=source_digest,
        fault_total=report.total,
        fault_counts=Jsonb(dict(report.counts)),
        faults=Jsonb([_without_nul(asdict(fault)) for fault in report.kept]),
        summary=_clean(report.summary),
        workload=request.workload,
        run_id=request.run_id,
        campaign_id=request.campaign_id,
    )


def _end_row(
    connection: Any,
    partition: Partition,
    request: RunRequest,
    target: PartitionStatus,
    reason: str,
    seconds: float | None,
    detail: Mapping[str, Any],
) -> Any:
    return statements().end_partition(
        connection,
        date=partition.date,
        region=partition.region,
        kind=target,
        status=target,
        run_id=request.run_id,
        sources=list(sources_of(target)),
        reason=_clean(reason),
        seconds=seconds,
        detail=Jsonb(_without_nul(detail)),
    )


def _ledger_row(partition: Partition, row: Mapping[str, Any]) -> LedgerRow:
    output = OutputState(row["output"])
    identity = fingerprint = authority = None
    if output is not OutputState.ABSENT:
        identity = OutputIdentity(
            source_digest=row["output_source_digest"],
            code_version=row["output_code_version"],
            dimension_version=row["output_dimension_version"],
        )
        authority = Authority(row["output_authority"])
        fingerprint = Fingerprint(
            rows=row["output_rows"],
            checksum=int(row["output_checksum"]),
            units=int(row["output_units"]),
            revenue_cents=int(row["output_revenue_cents"]),
            stores=row["output_stores"],
            products=row["output_products"],
        )
    return LedgerRow(
        partition=partition,
        status=PartitionStatus(row["status"]),
        output=output,
        attempt=row["attempt"],
        identity=identity,
        fingerprint=fingerprint,
        authority=authority,
        is_merged=row["is_merged"],
        is_shadow_due=row.get("is_shadow_due", False),
    )


def _clean(text: str) -> str:
    # PostgreSQL's text and jsonb cannot hold a NUL; a fault's value may.
    return text.replace("\0", "␀").encode(errors="replace").decode()


def _without_nul(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _clean(value) if isinstance(value, str) else value for name, value in values.items()
    }
