"""Which landed files make up a delivery: one sales file, or the parts that its manifest lists."""

from __future__ import annotations

from forecast_backfill.core.manifest import Manifest
from forecast_backfill.core.source import Fault, FaultCode, FaultCollector
from forecast_backfill.ports import HashedFile, LandedFile, LandedSource

PART_PREFIX = "part-"


def due_files(
    source: LandedSource, manifest: Manifest | None, faults: FaultCollector
) -> tuple[LandedFile | HashedFile, ...] | None:
    """The files to be judged, by name; None where a fault was added."""
    files = sorted(source.files, key=lambda file: file.name)
    names = [file.name for file in files]
    if manifest is not None and manifest.parts:
        _compare_parts(manifest, names, faults)
        is_due = set(names) == {part.file for part in manifest.parts}
    else:
        is_due = _judge_names(names, manifest, faults)
    if not is_due:
        return None
    empty = [file.name for file in files if not file.size]
    for name in empty:
        reason = "the file has no byte"
        faults.add(Fault(code=FaultCode.FILE_ZERO_BYTES, file=name, reason=reason))
    return None if empty else tuple(files)


def _compare_parts(manifest: Manifest, names: list[str], faults: FaultCollector) -> None:
    due = {part.file for part in manifest.parts}
    for name in sorted(due - set(names)):
        reason = "the manifest lists this part, but it has not been landed"
        faults.add(Fault(code=FaultCode.FILE_MISSING, file=name, reason=reason))
    for name in sorted(set(names) - due):
        reason = "this file has been landed, but the manifest does not list it"
        faults.add(Fault(code=FaultCode.FILE_AMBIGUOUS, file=name, reason=reason))


def _judge_names(names: list[str], manifest: Manifest | None, faults: FaultCollector) -> bool:
    if not names:
        reason = "no sales file has been landed"
        faults.add(Fault(code=FaultCode.FILE_MISSING, file="sales.csv.gz", reason=reason))
        return False
    # Without a manifest nothing says how many parts are due: all are judged, none is accepted.
    are_parts = manifest is None and all(name.startswith(PART_PREFIX) for name in names)
    if len(names) > 1 and not are_parts:
        reason = f"{len(names)} sales files have been landed ({', '.join(names)}); one is due"
        faults.add(Fault(code=FaultCode.FILE_AMBIGUOUS, file=names[0], reason=reason))
        return False
    return True
