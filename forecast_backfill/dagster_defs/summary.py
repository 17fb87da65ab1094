"""How a run ends: a summary that fits one screen, and a failure where a partition is not done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dagster import Failure

from forecast_backfill.core.outcome import Outcome, Quarantined, Unchanged, Written, reason_of
from forecast_backfill.ports.night_values import ForecastOutcome, ForecastRefused, ForecastWritten

SHOWN_PARTITIONS = 10
REASON_LIMIT = 240
NEXT_FOR_QUARANTINED = (
    "forecast-backfill quarantine list    (every refused source with its reasons)",
    "forecast-backfill quarantine retry   (launches those whose source has changed since)",
)
NEXT_FOR_OTHERS = ("forecast-backfill status    (what the ledger has of each campaign)",)


def raise_unless_done(outcomes: Sequence[Outcome]) -> None:
    """Fail the run, without retry, where any partition has no current output."""
    text = summarize(outcomes)
    if text is not None:
        raise Failure(description=text, allow_retries=False)


def raise_unless_forecast(outcomes: Sequence[ForecastOutcome]) -> None:
    """Fail the run, without retry, where any partition has no forecast of its own."""
    undone = [each for each in outcomes if not isinstance(each, ForecastWritten)]
    if not undone:
        return
    lines = [f"{len(undone)} of {len(outcomes)} partitions have no forecast:", ""]
    for each in undone[:SHOWN_PARTITIONS]:
        why = "; ".join(each.reasons) if isinstance(each, ForecastRefused) else "rolled back"
        lines.append(f"  {each.partition}  {why[:REASON_LIMIT]}")
    if len(undone) > SHOWN_PARTITIONS:
        lines.append(f"  … and {len(undone) - SHOWN_PARTITIONS} more")
    raise Failure(description="\n".join(lines), allow_retries=False)


def summarize(outcomes: Sequence[Outcome]) -> str | None:
    """The summary of a run that left something undone, or None where everything is done."""
    undone = [each for each in outcomes if not isinstance(each, Written | Unchanged)]
    if not undone:
        return None
    counts = Counter(type(each).__name__.lower() for each in outcomes)
    lines = [
        f"{len(undone)} of {len(outcomes)} partitions are not done: "
        + ", ".join(f"{count} {name}" for name, count in sorted(counts.items())),
        "",
    ]
    for each in undone[:SHOWN_PARTITIONS]:
        reason = " ".join(reason_of(each).split())
        cut = reason if len(reason) <= REASON_LIMIT else reason[: REASON_LIMIT - 1] + "…"
        lines.append(f"  {each.partition}  {type(each).__name__.lower()}: {cut}")
    if len(undone) > SHOWN_PARTITIONS:
        lines.append(f"  … and {len(undone) - SHOWN_PARTITIONS} more")
    is_quarantined = any(isinstance(each, Quarantined) for each in undone)
    commands = NEXT_FOR_QUARANTINED if is_quarantined else NEXT_FOR_OTHERS
    return "\n".join([*lines, "", "Next:", *(f"  {command}" for command in commands)])
