"""Builds what admission is decided by; light, because Dagster's daemon loads it for the queue."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property

from forecast_backfill.app.pacing import sample_if_due
from forecast_backfill.core.pace import Pace
from forecast_backfill.ports.signal import PacePorts
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.control import Health, PostgresControl
from forecast_backfill.warehouse.outlook import PostgresOutlook
from forecast_backfill.wiring.pace import pace_ports


class SampledHealth:
    """The pace at an instant, measured first where that is due; nightly never asks for it."""

    def __init__(self, settings: Settings, session: Session) -> None:
        self._settings = settings
        self._session = session

    @cached_property
    def _ports(self) -> PacePorts:
        return pace_ports(self._settings, self._session)

    def __call__(self, now: datetime) -> Pace:
        """The pace that holds now, on the database's clock."""
        return sample_if_due(self._ports, now).pace


def control_of(
    settings: Settings, session: Session, health: Health | None = None
) -> PostgresControl:
    """The knobs over one session, with what nights and health say; health sampled here and now
    unless another way is given."""
    return PostgresControl(
        session,
        settings,
        outlook=PostgresOutlook(session, settings),
        health=SampledHealth(settings, session) if health is None else health,
    )
