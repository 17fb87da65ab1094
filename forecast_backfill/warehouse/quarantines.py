"""Quarantines: the refused sources with their reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from forecast_backfill.core.partition import Partition
from forecast_backfill.core.source import Fault, FaultCode
from forecast_backfill.core.states import Workload
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.statements import statements


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantine:
    """One refusal; open while `resolved_at` is None. `faults` are those that were kept."""

    quarantine_id: int
    partition: Partition
    source_digest: str
    fault_total: int
    fault_counts: Mapping[FaultCode, int]
    faults: tuple[Fault, ...]
    summary: str
    workload: Workload
    run_id: str
    campaign_id: str | None
    quarantined_at: datetime
    resolved_at: datetime | None


def list_quarantines(
    session: Session, *, campaign_id: str | None = None, only_open: bool = True
) -> tuple[Quarantine, ...]:
    """Quarantines by partition: the open ones, or all; of one campaign, or of any."""
    with session.use() as connection:
        rows = list(
            statements().list_quarantines(connection, campaign_id=campaign_id, only_open=only_open)
        )
    return tuple(_quarantine(row) for row in rows)


def find_quarantine(session: Session, partition: Partition) -> Quarantine | None:
    """The partition's open quarantine, else its latest; None where it never had one."""
    with session.use() as connection:
        row = statements().find_quarantine(connection, date=partition.date, region=partition.region)
    return None if row is None else _quarantine(row)


def _quarantine(row: Mapping[str, Any]) -> Quarantine:
    fields = dict(row)
    partition = Partition(date=fields.pop("date"), region=fields.pop("region"))
    faults = tuple(
        Fault(**fault | {"code": FaultCode(fault["code"])}) for fault in fields.pop("faults")
    )
    counts = {FaultCode(code): number for code, number in fields.pop("fault_counts").items()}
    workload = Workload(fields.pop("workload"))
    return Quarantine(
        partition=partition, faults=faults, fault_counts=counts, workload=workload, **fields
    )
