"""Whether an export instant can be true: a far one would win every merge for good."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from datetime import date as Date

from forecast_backfill.core.source import Fault, FaultCode, FaultCollector, FaultReport

TOLERANCE = timedelta(days=1)
"""So far the retailer's clock may be ahead of ours."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def judge_export(*, source_version: int, now: datetime, as_of: Date | None) -> FaultReport | None:
    """Why a delivery is refused that says it was exported more than a day from now; None if not.

    `source_version` is the export in microseconds since 1970 UTC. Where the installation stands
    at `as_of`, now is not before the end of that date. The text names no clock: the same delivery
    is refused in the same words wherever it is judged.
    """
    if as_of is not None:
        now = max(now, datetime.combine(as_of + timedelta(days=1), time(), tzinfo=UTC))
    if source_version <= (now + TOLERANCE - _EPOCH) // _MICROSECOND:
        return None
    exported = _EPOCH + min(timedelta(microseconds=source_version), _LAST - _EPOCH)
    faults = FaultCollector()
    faults.add(
        Fault(
            code=FaultCode.MANIFEST_SCHEMA,
            file="manifest.json",
            column="exported_at",
            value=exported.isoformat(),
            reason="the manifest says that it was exported more than a day from now: "
            "no later delivery could correct it",
        )
    )
    return faults.report()
