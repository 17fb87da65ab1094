"""What is kept for rollbacks, as one line and as the fields of `--json`."""

from __future__ import annotations

from datetime import datetime, timedelta

from forecast_backfill.warehouse.acceptances import SupersededSize


def kept_line(size: SupersededSize, *, now: datetime, days: int) -> str:
    """How much is kept, for how many campaigns, and for how many of them no longer than meant."""
    if not size.campaigns:
        return "nothing is kept for rollbacks"
    rows = sum(each.rows for each in size.campaigns)
    line = (
        f"{shown_bytes(size.bytes)} kept for rollbacks: {rows:,} rows of "
        f"{len(size.campaigns)} campaigns and runs"
    )
    expired = len(_expired(size, now, days))
    if expired:
        line += f"; {expired} older than {days} days: forecast-backfill accept --expired"
    return line


def kept_fields(size: SupersededSize, *, now: datetime, days: int) -> dict[str, object]:
    """The same for `--json`, with every campaign."""
    expired = _expired(size, now, days)
    return {
        "bytes": size.bytes,
        "retention_days": days,
        "campaigns": [
            {
                "campaign_id": each.campaign_id,
                "workload": each.workload.value,
                "partitions": each.partitions,
                "rolled_back": each.rolled_back,
                "rows": each.rows,
                "last_at": each.last_at.isoformat(),
                "expired": each.campaign_id in expired,
            }
            for each in size.campaigns
        ],
    }


def shown_bytes(count: int) -> str:
    """Bytes in the unit that a person would say."""
    for unit, power in (("GB", 3), ("MB", 2), ("kB", 1)):
        if count >= 1000**power:
            return f"{count / 1000**power:.1f} {unit}"
    return f"{count} bytes"


def _expired(size: SupersededSize, now: datetime, days: int) -> set[str]:
    before = now - timedelta(days=days)
    return {each.campaign_id for each in size.campaigns if each.last_at < before}
