"""What can be missing for Spark, each with its remedy."""

from __future__ import annotations

from forecast_backfill.core.errors import ForecastBackfillError


class SparkUnavailable(ForecastBackfillError):
    """pyspark, Java, the cluster or the package on its executors is missing or does not answer."""
