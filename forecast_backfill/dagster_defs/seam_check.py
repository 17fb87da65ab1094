"""The check `seam_audit` on the seal of a date: what an operator reads of gaps and overlaps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date as Date
from datetime import timedelta

from dagster import (
    AssetCheckEvaluation,
    AssetCheckResult,
    AssetCheckSeverity,
    AssetCheckSpec,
    AssetKey,
    DailyPartitionsDefinition,
)

from forecast_backfill.app.audit_seam import audit_seam
from forecast_backfill.core.errors import ForecastBackfillError
from forecast_backfill.core.partition import DateRange
from forecast_backfill.core.seam_audit import Finding, FindingKind, SeamAudit
from forecast_backfill.dagster_defs.asset_bodies import NightRun
from forecast_backfill.dagster_defs.metadata import RawMetadata
from forecast_backfill.dagster_defs.night_metadata import markdown

SEAM_AUDIT = "seam_audit"


def seam_check_spec(asset: AssetKey, dates: DailyPartitionsDefinition) -> AssetCheckSpec:
    """A check that blocks nothing: a seal says what is, and so does this."""
    return AssetCheckSpec(
        SEAM_AUDIT,
        asset=asset,
        partitions_def=dates,
        description="Where backfill meets live: no gap, no key twice, and the version that won.",
    )


def audit_day(day: Date, run: NightRun) -> AssetCheckResult:
    """What the audit found of one date, for a run of that date alone."""
    judged = _judge([day], run)[day]
    return AssetCheckResult(
        check_name=SEAM_AUDIT,
        passed=judged.passed,
        severity=judged.severity,
        description=judged.description,
        metadata=judged.metadata,
    )


def audit_days(
    days: Sequence[Date], run: NightRun, asset: AssetKey
) -> Iterator[AssetCheckEvaluation]:
    """What one audit found of each of several dates, to be logged."""
    for day, judged in _judge(days, run).items():
        yield AssetCheckEvaluation(
            asset_key=asset,
            check_name=SEAM_AUDIT,
            partition=str(day),
            passed=judged.passed,
            severity=judged.severity,
            description=judged.description,
            metadata=judged.metadata,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    passed: bool
    severity: AssetCheckSeverity
    description: str
    metadata: dict[str, RawMetadata]


def _judge(days: Sequence[Date], run: NightRun) -> dict[Date, _Judged]:
    """One audit from the first to the last of `days`; an audit that fails costs no seal."""
    ports = run.ports
    dates = DateRange(start=min(days), end=max(days) + timedelta(days=1))

    def audit() -> SeamAudit:
        return audit_seam(
            dates, regions=ports.regions, seam=ports.calendar.seam, records=run.seam_records
        )

    try:
        audited = ports.retry(audit)
    except ForecastBackfillError as error:
        reason = f"not audited: {error}"
        return dict.fromkeys(
            days,
            _Judged(
                passed=False,
                severity=AssetCheckSeverity.WARN,
                description=reason,
                metadata={"seam": str(ports.calendar.seam)},
            ),
        )
    return {day: _judged(audited, _of(audited, day)) for day in days}


def _judged(audit: SeamAudit, found: Sequence[Finding]) -> _Judged:
    return _Judged(
        passed=all(each.is_explained for each in found),
        severity=_severity(found),
        description=_describe(found),
        metadata=_metadata(audit, found),
    )


def _of(audit: SeamAudit, day: Date) -> list[Finding]:
    return [each for each in audit.findings if each.date == day]


def _severity(found: Sequence[Finding]) -> AssetCheckSeverity:
    """A gap may still be filled; rows that should not be there are wrong."""
    is_wrong = any(not each.is_explained and each.kind is not FindingKind.GAP for each in found)
    return AssetCheckSeverity.ERROR if is_wrong else AssetCheckSeverity.WARN


def _describe(found: Sequence[Finding]) -> str:
    return "; ".join(str(each) for each in found) or "every key once, of the version that has won"


def _metadata(audit: SeamAudit, found: Sequence[Finding]) -> dict[str, RawMetadata]:
    lines = [
        f"| {each.kind} | {', '.join(each.regions)} | {each.owner} | {each.reason} "
        f"| {'yes' if each.is_explained else 'no'} |"
        for each in found
    ]
    head = ["| finding | regions | owner | reason | explained |", "|---|---|---|---|---|"]
    return {
        "seam": str(audit.seam),
        "faults": sum(not each.is_explained for each in found),
        "findings": markdown("\n".join([*head, *lines]) if lines else "none"),
    }
