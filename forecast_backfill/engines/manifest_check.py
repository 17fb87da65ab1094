"""Compares a source with its manifest: partition, file, hash, lines, totals."""

from __future__ import annotations

from collections.abc import Sequence

from forecast_backfill.core.manifest import LandedPart, Manifest, ManifestRefused, parse_manifest
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.source import (
    ControlTotals,
    Fault,
    FaultCode,
    FaultCollector,
)
from forecast_backfill.engines.judge_part import PartReport
from forecast_backfill.ports import HashedFile, LandedFile, LandedSource

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
    manifest: Manifest,
    files: Sequence[LandedFile | HashedFile],
    partition: Partition,
    faults: FaultCollector,
) -> None:
    """Whether the manifest speaks of this partition and of these bytes."""
    stated = [
        ("date", manifest.date, partition.date.isoformat()),
        ("region", manifest.region, partition.region),
    ]
    if not manifest.parts:
        stated.append(("file", manifest.file, files[0].name))
    for column, found, due in stated:
        if found != due:
            reason = f"the manifest speaks of the {column} {found!r}, the landed one is {due!r}"
            _add(faults, FaultCode.MANIFEST_PARTITION, column, found, reason)
    for file, part in zip(files, _in_order(manifest), strict=False):
        digest = file.sha256
        if digest != part.sha256:
            reason = f"the SHA-256 of {file.name} is {digest}: it is not the file that was exported"
            _add(faults, FaultCode.MANIFEST_HASH, "sha256", part.sha256, reason)


def check_line_counts(
    manifest: Manifest, parts: Sequence[PartReport], faults: FaultCollector
) -> None:
    """Whether each file has as many lines as the manifest says, and what may have cost some."""
    for found, part in zip(parts, _in_order(manifest), strict=False):
        _check_lines(found, part.lines, faults)
    total = sum(part.lines for part in manifest.files)
    if total != manifest.totals.lines:
        reason = f"the parts make {total} lines, the manifest says {manifest.totals.lines}"
        due = str(manifest.totals.lines)
        _add(faults, FaultCode.MANIFEST_LINES, "lines", due, reason)


def _in_order(manifest: Manifest) -> list[LandedPart]:
    """The files of the manifest by name, as the landed ones come."""
    return sorted(manifest.files, key=lambda part: part.file)


def _check_lines(part: PartReport, due: int, faults: FaultCollector) -> None:
    found, file = part.count, part.file
    if found == due:
        return
    for line in part.multiline:
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


def check_end(part: PartReport, faults: FaultCollector) -> None:
    """Whether the last line may be cut: no line break ends it, and something else is wrong too."""
    known = FaultCode.LAST_LINE_CUT in faults.counts
    if part.open_line is None or known or not faults.counts.keys() & _SIGNS_OF_A_CUT:
        return
    reason = "no line break ends the last line, and the manifest disagrees: it may be cut"
    faults.add(
        Fault(code=FaultCode.LAST_LINE_CUT, file=part.file, line=part.open_line, reason=reason)
    )


def _add(faults: FaultCollector, code: FaultCode, column: str, value: str, reason: str) -> None:
    faults.add(Fault(code=code, file=MANIFEST_NAME, column=column, value=value, reason=reason))
