"""Parity of a merge: what is stored is what the oracle says must be, and nothing was made up."""

from __future__ import annotations

from collections.abc import Mapping

from forecast_backfill.core.fingerprint import Fingerprint
from forecast_backfill.core.merge import Merged, fingerprint_of
from forecast_backfill.core.parity import (
    Exclusion,
    Mismatch,
    MismatchKind,
    Parity,
    compare,
    difference,
)
from forecast_backfill.core.source import ControlTotals
from forecast_backfill.core.version import Authority

Statements = Mapping[tuple[Authority, int], tuple[int, int]]
"""Rows and sum of row hashes by (authority, source version)."""


def compare_merge(
    *,
    claimed: Fingerprint,
    totals: ControlTotals,
    exclusions: Mapping[str, Exclusion],
    expected: Merged,
    stored: Fingerprint,
    statements: Statements,
) -> Parity | Mismatch:
    """Compare three things, each computed twice by different code.

    The claim conserves what the manifest delivers, as everywhere. The stored fingerprint (SQL over
    the stored columns) is that of the oracle's rows (Python over what stood there before and the
    claim). And each version has as many rows, with the same sum of hashes, as the oracle left it:
    a fingerprint does not cover versions.
    """
    delivered = compare(read=claimed, stored=claimed, totals=totals, exclusions=exclusions)
    if isinstance(delivered, Mismatch):
        return delivered
    due = fingerprint_of(expected.rows)
    found = difference(due, stored)
    if found is not None:
        return found
    due_statements = _statements_of(expected)
    for statement in sorted({*due_statements, *statements}):
        ours, theirs = due_statements.get(statement, (0, 0)), statements.get(statement, (0, 0))
        if ours != theirs:
            authority, version = statement
            return Mismatch(
                kind=MismatchKind.VALUES_DIFFER,
                read=due,
                stored=stored,
                reason=f"rows of {authority.name.lower()} {version}: must be {ours[0]} of checksum "
                f"{ours[1]}, stored {theirs[0]} of {theirs[1]}",
            )
    return Parity(fingerprint=stored)


def _statements_of(merged: Merged) -> dict[tuple[Authority, int], tuple[int, int]]:
    found: dict[tuple[Authority, int], tuple[int, int]] = {}
    for row in merged.rows.values():
        rows, checksum = found.get((row.authority, row.source_version), (0, 0))
        found[row.authority, row.source_version] = rows + 1, checksum + row.row_hash
    return found
