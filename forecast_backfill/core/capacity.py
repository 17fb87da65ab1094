"""How many slots backfill may hold."""

from __future__ import annotations


def cap_for(*, slots: int, nightly_peak: int, asked: int | None) -> int:
    """The cap: what was asked for where anything was, else slots less the nightly peak.

    Never more than `slots` and never below 0.
    """
    wanted = slots - nightly_peak if asked is None else asked
    return max(0, min(slots, wanted))
