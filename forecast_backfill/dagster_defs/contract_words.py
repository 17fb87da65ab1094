"""The completeness contract's verdict in words that fit a screen, with the next command."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from forecast_backfill.core.coverage import CellState
from forecast_backfill.ports.night_values import VerdictKind, WindowVerdict

MOST_REASONS = 4


def contract_words(verdict: WindowVerdict) -> str:
    """One paragraph: the verdict, the first reasons, and the next command where no fit starts."""
    if verdict.kind is VerdictKind.ACCEPTED:
        return _accepted(verdict)
    words = f"{verdict.kind.value.replace('_', ' ')}: {shortened(verdict.reasons)}"
    following = next_command(verdict)
    return words if following is None else f"{words}. Next: {following}"


def shortened(reasons: Sequence[str]) -> str:
    """The first reasons, and how many more there are: forty regions may each have one."""
    more = len(reasons) - MOST_REASONS
    shown = [*reasons[:MOST_REASONS], *([f"and {more} more"] if more > 0 else [])]
    return "; ".join(shown) or "none"


def next_command(verdict: WindowVerdict) -> str | None:
    """What lets a fit start; None where it may."""
    match verdict.kind:
        case VerdictKind.ACCEPTED | VerdictKind.DEGRADED:
            return None
        case VerdictKind.NEEDS_OVERRIDE:
            return (
                f"forecast-backfill nightly --date {verdict.date} --override-by NAME --reason TEXT"
            )
        case VerdictKind.REFUSED:
            return _refill(verdict)


def _refill(verdict: WindowVerdict) -> str:
    # The window's own date is nightly's: no campaign may fill it.
    missing = [
        each.partition.date
        for each in verdict.left_out
        if each.state is CellState.MISSING and each.partition.date < verdict.date
    ]
    if not missing:
        return "forecast-backfill quarantine list"
    end = max(missing) + timedelta(days=1)
    return f"forecast-backfill backfill --from {min(missing)} --to {end}"


def _accepted(verdict: WindowVerdict) -> str:
    if not verdict.left_out:
        return f"complete: all {verdict.expected:,} partitions are in"
    return f"accepted: {len(verdict.left_out):,} of {verdict.expected:,} partitions are left out"
