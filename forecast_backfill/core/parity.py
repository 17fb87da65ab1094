"""Parity: what was read is what is stored, and both agree with the source's own totals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from forecast_backfill.core.fingerprint import Fingerprint
from forecast_backfill.core.source import ControlTotals


class MismatchKind(StrEnum):
    """How two sides differ."""

    MISSING_ROWS = "missing_rows"
    EXTRA_ROWS = "extra_rows"
    EXACT_MULTIPLE = "exact_multiple"
    VALUES_DIFFER = "values_differ"
    CONTROL_TOTALS = "control_totals"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """Landed lines that a declared rule of the transform leaves out, with what they carried."""

    lines: int
    units: int
    revenue_cents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Parity:
    """Both sides agree on everything."""

    fingerprint: Fingerprint


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """The two sides differ; `reason` names the first difference with both values."""

    kind: MismatchKind
    read: Fingerprint
    stored: Fingerprint
    reason: str


def compare(
    *,
    read: Fingerprint,
    stored: Fingerprint,
    totals: ControlTotals,
    exclusions: Mapping[str, Exclusion],
) -> Parity | Mismatch:
    """Compare the engine's fingerprint with the stored one, and the stored one with the manifest.

    Units and revenue must be conserved: what is stored plus what declared rules left out is what
    the retailer says it delivered.
    """
    mismatch = difference(read, stored)
    if mismatch is not None:
        return mismatch
    left_out_units = sum(each.units for each in exclusions.values())
    left_out_cents = sum(each.revenue_cents for each in exclusions.values())
    for name, found, delivered in (
        ("units", stored.units + left_out_units, totals.units),
        ("revenue_cents", stored.revenue_cents + left_out_cents, totals.revenue_cents),
    ):
        if found != delivered:
            return Mismatch(
                kind=MismatchKind.CONTROL_TOTALS,
                read=read,
                stored=stored,
                reason=f"{name}: stored and left out make {found}, the manifest says {delivered}",
            )
    return Parity(fingerprint=stored)


def difference(read: Fingerprint, stored: Fingerprint) -> Mismatch | None:
    """How what is stored differs from what must be; None where it does not."""
    if read == stored:
        return None
    kind, reason = _kind(read, stored)
    return Mismatch(kind=kind, read=read, stored=stored, reason=reason)


def _kind(read: Fingerprint, stored: Fingerprint) -> tuple[MismatchKind, str]:
    if read.rows and stored.rows > read.rows and stored.rows % read.rows == 0:
        factor = stored.rows // read.rows
        if stored.checksum == factor * read.checksum:
            return MismatchKind.EXACT_MULTIPLE, f"every row is stored {factor} times"
    if stored.rows < read.rows:
        return MismatchKind.MISSING_ROWS, f"read {read.rows} rows, stored {stored.rows}"
    if stored.rows > read.rows:
        return MismatchKind.EXTRA_ROWS, f"read {read.rows} rows, stored {stored.rows}"
    for name in ("units", "revenue_cents", "stores", "products", "checksum"):
        ours, theirs = getattr(read, name), getattr(stored, name)
        if ours != theirs:
            return MismatchKind.VALUES_DIFFER, f"{name}: read {ours}, stored {theirs}"
    raise AssertionError("two different fingerprints without a difference")
