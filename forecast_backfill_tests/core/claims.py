"""Claims for the tests of merges, and strategies that make them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hypothesis import strategies as st

from forecast_backfill.core.fingerprint import row_hash
from forecast_backfill.core.merge import Claim, Key, Merged, MergeRow, Standing, merge
from forecast_backfill.core.version import Authority, Version

KEYS = [("s1", "1"), ("s1", "2"), ("s2", "1"), ("s2", "3")]


def version_of(authority: Authority, source_version: int, revision: int = 0) -> Version:
    """A version."""
    return Version(authority=authority, source_version=source_version, revision=revision)


def claim_of(version: Version, units: Mapping[Key, int]) -> Claim:
    """A claim whose rows differ by their units only."""
    return Claim(
        version=version,
        rows={
            key: MergeRow(
                authority=version.authority,
                source_version=version.source_version,
                row_hash=row_hash([*key, each]),
                units=each,
                revenue_cents=100 * each,
            )
            for key, each in units.items()
        },
    )


def merge_all(claims: Iterable[Claim]) -> Merged | None:
    """The claims merged one after the other into an empty partition."""
    merged: Merged | None = None
    for claim in claims:
        rows = {} if merged is None else merged.rows
        floor = None if merged is None else merged.floor
        merged = merge(rows, Standing(floor=floor, is_merged=merged is not None), claim)
    return merged


versions = st.builds(
    version_of,
    st.sampled_from(list(Authority)),
    st.integers(1, 3),
    st.integers(0, 2),
)
claims = st.builds(claim_of, versions, st.dictionaries(st.sampled_from(KEYS), st.integers(1, 3)))
