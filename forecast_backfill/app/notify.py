"""Queue notices, and deliver them apart from the work that they tell of."""

from __future__ import annotations

from dataclasses import dataclass

from forecast_backfill.core.errors import ForecastBackfillError
from forecast_backfill.core.notice import Notice, pause_after
from forecast_backfill.ports.night import NightPorts
from forecast_backfill.ports.night_values import QueuedNotice


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What one round of sending came to; failed ones are tried again, abandoned ones are not."""

    sent: int
    failed: int
    abandoned: int
    unaddressed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """The notice is in the outbox; `is_new` is false where it was told before."""

    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NotQueued:
    """The outbox could not be reached; the work goes on without the notice."""

    reason: str


def queue_notice(notice: Notice, *, ports: NightPorts) -> Queued | NotQueued:
    """Put a notice into the outbox; what goes wrong with it never fails the work."""
    try:
        return Queued(is_new=ports.notices.queue(notice))
    except ForecastBackfillError as error:
        return NotQueued(reason=str(error))


def deliver_notices(*, ports: NightPorts, limit: int = 20) -> Delivery:
    """Send what is due, each notice on its own; a failure is recorded and tried again later."""
    counts = {"sent": 0, "failed": 0, "abandoned": 0, "unaddressed": 0}
    for notice in ports.notices.claim(now=ports.clock.now(), limit=limit):
        counts[_deliver(notice, ports)] += 1
    return Delivery(**counts)


def _deliver(notice: QueuedNotice, ports: NightPorts) -> str:
    if not ports.notifier.has_target(notice.audience):
        ports.notices.unaddressed(notice)
        return "unaddressed"
    try:
        ports.notifier.send(notice.audience, title=notice.title, body=notice.body)
    except ForecastBackfillError as error:
        pause = pause_after(notice.attempts)
        again_at = None if pause is None else ports.clock.now() + pause
        ports.notices.failed(notice, reason=str(error), again_at=again_at)
        return "abandoned" if pause is None else "failed"
    ports.notices.sent(notice)
    return "sent"
