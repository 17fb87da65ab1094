"""The local engine: judges, transforms and fingerprints one landed partition, without I/O."""

from __future__ import annotations

from forecast_backfill.arrow_arrays import integers
from forecast_backfill.core.manifest import Manifest
from forecast_backfill.core.source import (
    ControlTotals,
    Fault,
    FaultCode,
    FaultCollector,
    FaultReport,
    explain_unknown_products,
)
from forecast_backfill.engines.code_version import code_version
from forecast_backfill.engines.csv_text import read_csv_text
from forecast_backfill.engines.delivery_files import due_files
from forecast_backfill.engines.dimension_tables import PartitionDimensions
from forecast_backfill.engines.fingerprint import fingerprint_of, row_hashes
from forecast_backfill.engines.join_parts import join_parts
from forecast_backfill.engines.manifest_check import (
    check_end,
    check_identity,
    check_line_counts,
    check_totals,
    read_manifest,
)
from forecast_backfill.engines.parquet_file import read_parquet_file
from forecast_backfill.engines.raw_lines import RawLines
from forecast_backfill.engines.transform import UNMATCHED_PRODUCT, transform
from forecast_backfill.engines.unpack import unpack
from forecast_backfill.engines.validate import Lines, validate
from forecast_backfill.ports import LandedFile, LandedSource, Prepared, Rejected

_STRUCTURAL = {
    FaultCode.FIELD_COUNT,
    FaultCode.HEADER_REPEATED,
    FaultCode.LAST_LINE_CUT,
    FaultCode.QUOTE_STRAY,
}


class PandasEngine:
    """Runs in this process, on Arrow columns."""

    @property
    def code_version(self) -> str:
        """Changes whenever the source text of the engine does."""
        return code_version()

    def prepare(self, source: LandedSource, dimensions: PartitionDimensions) -> Prepared | Rejected:
        """Judge the source and, where it is good, build the rows of `daily_demand`."""
        return prepare(source, dimensions)


def prepare(source: LandedSource, dimensions: PartitionDimensions) -> Prepared | Rejected:
    """A pure function of the landed bytes and the dimensions; never raises for a bad source."""
    faults = FaultCollector()
    manifest = read_manifest(source, faults)
    judged = _judge(source, manifest, dimensions, faults)
    report = faults.report()
    if report is not None:
        return Rejected(report=report)
    # Without a fault there are both: each None above comes with one.
    assert manifest is not None
    assert judged is not None
    lines, totals = judged
    rows, exclusions = transform(lines, dimensions)
    unmatched = exclusions[UNMATCHED_PRODUCT].lines if UNMATCHED_PRODUCT in exclusions else 0
    reason = explain_unknown_products(lines=totals.lines, unmatched=unmatched)
    if reason is not None:
        return _reject(FaultCode.PRODUCT_UNKNOWN, source.files[0].name, "product_id", reason)
    hashes = row_hashes(rows, source.partition)
    return Prepared(
        rows=rows.append_column("row_hash", integers(hashes)),
        fingerprint=fingerprint_of(rows, hashes),
        totals=totals,
        exclusions=exclusions,
        source_version=manifest.source_version,
    )


def _reject(code: FaultCode, file: str, column: str, reason: str) -> Rejected:
    fault = Fault(code=code, file=file, column=column, reason=reason)
    return Rejected(report=FaultReport(kept=(fault,), counts={code: 1}))


def _judge(
    source: LandedSource,
    manifest: Manifest | None,
    dimensions: PartitionDimensions,
    faults: FaultCollector,
) -> tuple[Lines, ControlTotals] | None:
    """The lines with their totals; None where they cannot be had, and then a fault was added."""
    files = due_files(source, manifest, faults)
    if files is None:
        return None
    if manifest is not None:
        check_identity(manifest, files, source.partition, faults)
    raws = [raw for raw in [_read(file, faults) for file in files] if raw is not None]
    is_whole = len(raws) == len(files) and not _STRUCTURAL & faults.counts.keys()
    if manifest is not None and is_whole:
        check_line_counts(manifest, raws, faults)
    parts = [validate(raw, source.partition, dimensions, faults) for raw in raws]
    good = [part for part in parts if part is not None]
    lines = join_parts(raws, good, faults) if len(good) == len(files) else None
    totals = None if lines is None else _totals_of(lines)
    # Where lines are missing, that is the fault: the other totals follow from it.
    if manifest and totals and is_whole and totals.lines == manifest.totals.lines:
        check_totals(manifest, totals, faults)
    for raw in raws:
        check_end(raw, faults)
    return None if lines is None or totals is None else (lines, totals)


def _totals_of(lines: Lines) -> ControlTotals:
    return ControlTotals(
        lines=lines.count,
        units=int(lines.quantity.sum()),
        revenue_cents=int(lines.sales.sum()),
        stores=len(lines.stores),
    )


def _read(file: LandedFile, faults: FaultCollector) -> RawLines | None:
    if file.name.endswith(".parquet"):
        return read_parquet_file(file, faults)
    if not file.name.endswith((".csv", ".csv.gz")):
        reason = "a sales file is .csv, .csv.gz or .parquet"
        faults.add(Fault(code=FaultCode.FILE_UNREADABLE, file=file.name, reason=reason))
        return None
    text = unpack(file, faults)
    return None if text is None else read_csv_text(text, file.name, faults)
