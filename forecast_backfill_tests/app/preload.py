"""Imported once by the fork server, so that a killed worker costs milliseconds to replace."""

import forecast_backfill.app.run_partition
import forecast_backfill.engines.pandas_engine
import forecast_backfill.wiring.partition  # noqa: F401
