"""The judgement of a whole delivery from that of its files, and what it becomes if it is good.

Wherever the files are judged and the lines transformed: in this process, or on Spark's executors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from forecast_backfill.core.fingerprint import Fingerprint
from forecast_backfill.core.manifest import Manifest
from forecast_backfill.core.parity import Exclusion
from forecast_backfill.core.source import (
    ControlTotals,
    Fault,
    FaultCode,
    FaultCollector,
    FaultReport,
    explain_unknown_products,
)
from forecast_backfill.engines.delivery_files import due_files
from forecast_backfill.engines.judge_part import PartReport
from forecast_backfill.engines.manifest_check import (
    check_end,
    check_identity,
    check_line_counts,
    check_totals,
    read_manifest,
)
from forecast_backfill.engines.transform import UNMATCHED_PRODUCT
from forecast_backfill.engines.validate import totals_fit
from forecast_backfill.ports import HashedFile, LandedFile, LandedSource, Prepared, Rejected, Rows

_STRUCTURAL = {
    FaultCode.FIELD_COUNT,
    FaultCode.HEADER_REPEATED,
    FaultCode.LAST_LINE_CUT,
    FaultCode.QUOTE_STRAY,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Transformed:
    """The rows of `daily_demand` with their row hashes, and what each rule left out."""

    rows: Rows
    fingerprint: Fingerprint
    exclusions: Mapping[str, Exclusion]


class Work(Protocol):
    """The work on the files of one delivery, in this order."""

    def judge(self, files: Sequence[LandedFile | HashedFile]) -> Sequence[PartReport]:
        """Judge each file alone."""
        ...

    def has_distinct_lines(self, faults: FaultCollector) -> bool:
        """Whether no two of the good files hold a line of one id; the faults where they do."""
        ...

    def transform(self) -> Transformed:
        """The rows of all lines of all files, which are good."""
        ...


def prepare_delivery(source: LandedSource, work: Work) -> Prepared | Rejected:
    """Judge the delivery and, where it is good, have it transformed."""
    faults = FaultCollector()
    manifest = read_manifest(source, faults)
    totals = _judge(source, manifest, work, faults)
    report = faults.report()
    if report is not None:
        return Rejected(report=report)
    # Without a fault there are both: each None above comes with one.
    assert manifest is not None
    assert totals is not None
    made = work.transform()
    left_out = made.exclusions.get(UNMATCHED_PRODUCT)
    unmatched = 0 if left_out is None else left_out.lines
    reason = explain_unknown_products(lines=totals.lines, unmatched=unmatched)
    if reason is not None:
        return _reject(FaultCode.PRODUCT_UNKNOWN, source.files[0].name, "product_id", reason)
    return Prepared(
        rows=made.rows,
        fingerprint=made.fingerprint,
        totals=totals,
        exclusions=made.exclusions,
        source_version=manifest.source_version,
    )


def _reject(code: FaultCode, file: str, column: str, reason: str) -> Rejected:
    fault = Fault(code=code, file=file, column=column, reason=reason)
    return Rejected(report=FaultReport(kept=(fault,), counts={code: 1}))


def _judge(
    source: LandedSource, manifest: Manifest | None, work: Work, faults: FaultCollector
) -> ControlTotals | None:
    """The totals; None where they cannot be had, and then a fault was added."""
    files = due_files(source, manifest, faults)
    if files is None:
        return None
    if manifest is not None:
        check_identity(manifest, files, source.partition, faults)
    reports = work.judge(files)
    for report in reports:
        faults.merge(report.reading)
    read = [report for report in reports if report.is_read]
    is_whole = len(read) == len(files) and not _STRUCTURAL & faults.counts.keys()
    if manifest is not None and is_whole:
        check_line_counts(manifest, read, faults)
    for report in read:
        faults.merge(report.values)
    totals = _join(reports, work, faults)
    # Where lines are missing, that is the fault: the other totals follow from it.
    if manifest and totals and is_whole and totals.lines == manifest.totals.lines:
        check_totals(manifest, totals, faults)
    for report in read:
        check_end(report, faults)
    return totals


def _join(
    reports: Sequence[PartReport], work: Work, faults: FaultCollector
) -> ControlTotals | None:
    """The totals over all files; None where one is bad, or all of them do not go together."""
    sums = [report.sums for report in reports if report.sums is not None]
    if len(sums) < len(reports):
        return None
    if len(reports) > 1:
        if not work.has_distinct_lines(faults):
            return None
        units = sum(each.moved_units for each in sums)
        cents = sum(each.moved_cents for each in sums)
        if not totals_fit(units, cents, reports[0].file, faults):
            return None
    return ControlTotals(
        lines=sum(report.count for report in reports),
        units=sum(each.units for each in sums),
        revenue_cents=sum(each.revenue_cents for each in sums),
        stores=len({store for each in sums for store in each.stores}),
    )
