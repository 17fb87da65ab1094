"""Compares a source with its manifest: partition, file, hash, lines, totals."""

from __future__ import annotations

import hashlib

from forecast_backfill.core.manifest import Manifest, ManifestRefused, parse_manifest
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.source import (
    ControlTotals,
    Fault,
    FaultCode,
    FaultCollector,
)
from forecast_backfill.engines.raw_lines import RawLines
from forecast_backfill.ports import LandedFile, LandedSource

MANIFEST_NAME = "manifest.json"

_SIGNS_OF_A_CUT = {
    FaultCode.MANIFEST_HASH,
    FaultCode.MANIFEST_LINES,
    FaultCode.MANIFEST_UNITS,
    FaultCode.MANIFEST_REVENUE,
    FaultCode.MANIFEST_STORES,
}


def read_manifest(source: LandedSource, faults: FaultCollector) -> Manifest | None:
    """The manifest; None where a fault was added."""
    if source.manifest is None:
        reason = "there is no manifest: the delivery is incomplete, not corrupt"
        faults.add(Fault(code=FaultCode.MANIFEST_MISSING, file=MANIFEST_NAME, reason=reason))
        return None
    try:
        return parse_manifest(source.manifest)
    except ManifestRefused as refused:
        faults.add(
            Fault(
                code=refused.code, file=MANIFEST_NAME, column=refused.column, reason=refused.reason
            )
        )
        return None


def check_identity(
    manifest: Manifest, file: LandedFile, partition: Partition, faults: FaultCollector
) -> None:
    """Whether the manifest speaks of this partition and of these bytes."""
    for column, found, due in (
        ("date", manifest.date, partition.date.isoformat()),
        ("region", manifest.region, partition.region),
        ("file", manifest.file, file.name),
    ):
        if found != due:
            reason = f"the manifest speaks of the {column} {found!r}, the landed one is {due!r}"
            _add(faults, FaultCode.MANIFEST_PARTITION, column, found, reason)
    digest = hashlib.sha256(file.content).hexdigest()
    if digest != manifest.sha256:
        reason = f"the SHA-256 of {file.name} is {digest}: it is not the file that was exported"
        _add(faults, FaultCode.MANIFEST_HASH, "sha256", manifest.sha256, reason)


def check_lines(manifest: Manifest, raw: RawLines, file: str, faults: FaultCollector) -> None:
    """Whether the file has as many lines as the manifest says, and what may have cost some."""
    found, due = raw.count, manifest.totals.lines
    if found == due:
        return
    for line in raw.multiline:
        reason = f"a quoted value here runs over line breaks, and {found} lines are not {due}"
        faults.add(Fault(code=FaultCode.QUOTE_STRAY, file=file, line=line, reason=reason))
    if not found:
        reason = f"the file holds no line below its header, the manifest says {due}"
        faults.add(Fault(code=FaultCode.HEADER_ONLY, file=file, line=1, reason=reason))
    else:
        reason = f"{file} holds {found} lines, the manifest says {due}"
        _add(faults, FaultCode.MANIFEST_LINES, "lines", str(due), reason)


def check_totals(manifest: Manifest, found: ControlTotals, faults: FaultCollector) -> None:
    """Whether the file sums up to what the manifest says."""
    due = manifest.totals
    for code, column, ours, theirs in (
        (FaultCode.MANIFEST_UNITS, "units", found.units, due.units),
        (FaultCode.MANIFEST_REVENUE, "revenue_cents", found.revenue_cents, due.revenue_cents),
        (FaultCode.MANIFEST_STORES, "stores", found.stores, due.stores),
    ):
        if ours != theirs:
            reason = f"{column}: the lines make {ours}, the manifest says {theirs}"
            _add(faults, code, column, str(theirs), reason)


def check_end(raw: RawLines, file: str, faults: FaultCollector) -> None:
    """Whether the last line may be cut: no line break ends it, and something else is wrong too."""
    known = FaultCode.LAST_LINE_CUT in faults.counts
    if raw.open_line is None or known or not faults.counts.keys() & _SIGNS_OF_A_CUT:
        return
    reason = "no line break ends the last line, and the manifest disagrees: it may be cut"
    faults.add(Fault(code=FaultCode.LAST_LINE_CUT, file=file, line=raw.open_line, reason=reason))


def _add(faults: FaultCollector, code: FaultCode, column: str, value: str, reason: str) -> None:
    faults.add(Fault(code=code, file=MANIFEST_NAME, column=column, value=value, reason=reason))
