"""How far a campaign is: counts, rate and the time that is left, as an operator reads them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignProgress:
    """A campaign as the ledger's events tell it.

    `partitions` were asked for. Each of those tried is `written`, `unchanged`, `quarantined` or
    `failed` (mismatched and refused ones among them). `seconds` passed from the launch to now, or
    to the last event of a campaign that has tried everything.
    """

    campaign_id: str
    partitions: int
    written: int
    unchanged: int
    quarantined: int
    failed: int
    seconds: float

    @property
    def done(self) -> int:
        """Partitions whose output is current."""
        return self.written + self.unchanged

    @property
    def tried(self) -> int:
        """Partitions that came to an end, good or bad."""
        return self.done + self.quarantined + self.failed

    @property
    def left(self) -> int:
        """Partitions that were not tried yet."""
        return max(0, self.partitions - self.tried)

    @property
    def is_done(self) -> bool:
        """Whether every partition that was asked for is current."""
        return self.done >= self.partitions

    @property
    def per_minute(self) -> float:
        """Partitions tried a minute since the launch."""
        return 60.0 * self.tried / self.seconds if self.seconds > 0 else 0.0

    @property
    def eta_seconds(self) -> float | None:
        """Seconds until the rest is tried at the rate so far; None where there is no rate yet."""
        if self.left == 0:
            return 0.0
        return 60.0 * self.left / self.per_minute if self.per_minute > 0 else None


def describe(progress: CampaignProgress) -> str:
    """One line: counts, rate and time left."""
    return (
        f"{progress.done}/{progress.partitions} done · {progress.quarantined} quarantined · "
        f"{progress.failed} failed · {progress.left} left · "
        f"{progress.per_minute:.0f}/min · ETA {clock(progress.eta_seconds)}"
    )


def clock(seconds: float | None) -> str:
    """Seconds as m:ss, or h:mm:ss from an hour on; an unknown time is a dash."""
    if seconds is None:
        return "–"
    whole = round(seconds)
    hours, rest = divmod(whole, 3600)
    minutes, last = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{last:02d}" if hours else f"{minutes}:{last:02d}"


def as_fields(progress: CampaignProgress) -> dict[str, object]:
    """The progress for `--json`."""
    return {
        "campaign_id": progress.campaign_id,
        "partitions": progress.partitions,
        "done": progress.done,
        "written": progress.written,
        "unchanged": progress.unchanged,
        "quarantined": progress.quarantined,
        "failed": progress.failed,
        "left": progress.left,
        "seconds": round(progress.seconds, 1),
        "per_minute": round(progress.per_minute, 1),
        "eta_seconds": None
        if progress.eta_seconds is None
        else round(progress.eta_seconds),
    }
