"""Audit the seam: what is stored of a range against what is recorded of it, as of one moment."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date as Date
from typing import Protocol

from forecast_backfill.core.partition import DateRange
from forecast_backfill.core.seam_audit import SeamAudit, SeamSides, audit


class SeamRecords(Protocol):
    """Read-only access to ledger, claims and rows."""

    def read(self, dates: DateRange, regions: Sequence[str]) -> SeamSides:
        """Both sides as of one moment."""
        ...


def audit_seam(
    dates: DateRange, *, regions: Sequence[str], seam: Date, records: SeamRecords
) -> SeamAudit:
    """Judge every partition of `dates` × `regions`; `seam` is the first date that nightly owns."""
    return audit(dates=dates, regions=regions, seam=seam, sides=records.read(dates, regions))
