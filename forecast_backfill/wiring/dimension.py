"""Builds the adapters that load dimensions."""

from __future__ import annotations

from forecast_backfill.landing.landed_dimensions import FileDimensions
from forecast_backfill.ports.dimension import DimensionPorts
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.dimensions import PostgresDimensions


def dimension_ports(settings: Settings, session: Session) -> DimensionPorts:
    """From the landing folder into the database, over one session."""
    return DimensionPorts(
        landed=FileDimensions(settings.landing_directory), store=PostgresDimensions(session)
    )
