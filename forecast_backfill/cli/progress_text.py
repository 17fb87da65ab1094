"""How far a campaign is, as one line and as the fields of `--json`."""

from __future__ import annotations

from forecast_backfill.warehouse.campaigns import CampaignProgress


def describe(progress: CampaignProgress, over: str | None = None) -> str:
    """One line: counts, rate and time left, or how it ended where the rest will not be done."""
    failed = progress.failed + progress.mismatched + progress.refused
    back = f"{progress.rolled_back} rolled back · " if progress.rolled_back else ""
    return (
        f"{current(progress)}/{progress.requested} done · {back}"
        f"{progress.quarantined} quarantined · "
        f"{failed} failed · {_rest(progress, over)}"
    )


def _rest(progress: CampaignProgress, over: str | None) -> str:
    if over is not None and progress.left:
        return f"{progress.left} not done: {over}"
    eta = clock(progress.eta_seconds)
    return f"{progress.left} left · {progress.rate:.0f}/min · ETA {eta}"


def current(progress: CampaignProgress) -> int:
    """Partitions whose output is current: written now, or found to be so."""
    return progress.done + progress.unchanged


def is_done(progress: CampaignProgress) -> bool:
    """Whether every partition that was asked for is current."""
    return progress.requested > 0 and current(progress) >= progress.requested


def clock(seconds: float | None) -> str:
    """Seconds as m:ss, or h:mm:ss from an hour on; an unknown time is a dash."""
    if seconds is None:
        return "–"
    hours, rest = divmod(round(seconds), 3600)
    minutes, last = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{last:02d}" if hours else f"{minutes}:{last:02d}"


def as_fields(progress: CampaignProgress) -> dict[str, object]:
    """The progress for `--json`."""
    return {
        "campaign_id": progress.campaign_id,
        "requested": progress.requested,
        "done": current(progress),
        "written": progress.done,
        "unchanged": progress.unchanged,
        "quarantined": progress.quarantined,
        "mismatched": progress.mismatched,
        "refused": progress.refused,
        "failed": progress.failed,
        "rolled_back": progress.rolled_back,
        "running": progress.running,
        "left": progress.left,
        "rate_per_minute": round(progress.rate, 1),
        "eta_seconds": None if progress.eta_seconds is None else round(progress.eta_seconds),
    }
