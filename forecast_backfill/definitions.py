"""What Dagster loads: every asset and check, assembled from the settings."""

from __future__ import annotations

from forecast_backfill.dagster_defs.assembly import build_definitions
from forecast_backfill.settings import load_settings

defs = build_definitions(load_settings())
