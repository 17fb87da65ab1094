"""Builds what pacing needs from the settings and a session."""

from __future__ import annotations

from datetime import timedelta

from forecast_backfill.core.pace import PaceRules
from forecast_backfill.core.pressure import PressureRules
from forecast_backfill.ports.signal import PacePorts
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.pace import PostgresPace
from forecast_backfill.warehouse.signals.assembly import build_signals

SLACK_SECONDS = 5.0
"""How long beyond its interval and one silent signal a look may be late, and is still trusted."""


def pace_rules(settings: Settings) -> PaceRules:
    """The state machine's numbers."""
    late = 2 * settings.pace_seconds + settings.pace_timeout_seconds + SLACK_SECONDS
    return PaceRules(
        pressure=PressureRules(
            trip_after=timedelta(minutes=settings.pace_trip_minutes),
            longest_gap=timedelta(seconds=max(30.0, 3 * settings.pace_seconds)),
        ),
        interval=timedelta(seconds=settings.pace_seconds),
        stale_after=timedelta(seconds=late),
    )


def pace_ports(settings: Settings, session: Session) -> PacePorts:
    """The pace of backfill over one session; its signals are looked at on a connection of their own
    that is open only meanwhile.

    Raises SettingRefused where a threshold is set for a signal that there is not.
    """
    return PacePorts(
        store=PostgresPace(session),
        signals=build_signals(
            session.url,
            replica_url=settings.replica_url,
            thresholds=settings.pace_thresholds,
            timeout_seconds=settings.pace_timeout_seconds,
        ),
        rules=pace_rules(settings),
    )
