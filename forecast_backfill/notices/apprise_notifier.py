"""Sends notices through Apprise, which is imported only when there is something to send."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from forecast_backfill.core.errors import NotificationFailed
from forecast_backfill.core.notice import Audience


class AppriseNotifier:
    """Targets are Apprise URLs (mailto://, slack://, json://, …), for each audience its own."""

    def __init__(self, targets: Mapping[Audience, Sequence[str]]) -> None:
        self._targets = targets

    def has_target(self, audience: Audience) -> bool:
        """Whether anybody is to be told."""
        return bool(self._targets.get(audience))

    def send(self, audience: Audience, *, title: str, body: str) -> None:
        """Send to every target of the audience.

        Raises NotificationFailed where one is malformed or did not take it. A target's address may
        hold a secret, so it is not named.
        """
        import apprise

        sender = apprise.Apprise()
        for number, target in enumerate(self._targets[audience], start=1):
            if not sender.add(target):
                raise _failed(audience, f"target {number} is no Apprise URL")
        try:
            is_taken = sender.notify(title=title, body=body)
        except (TypeError, OSError) as error:
            raise _failed(audience, type(error).__name__) from error
        if not is_taken:
            raise _failed(audience, "a target did not take it")


def _failed(audience: Audience, why: str) -> NotificationFailed:
    return NotificationFailed(
        f"a notice to {audience} was not sent",
        why=why,
        next_command=f"check FORECAST_BACKFILL_{audience.upper()}_NOTICES; it is tried again",
    )
