"""dagster-pyspark's lazy session, stopped as soon as nobody uses it."""

from __future__ import annotations

from dagster_pyspark import LazyPySparkResource

from forecast_backfill.engines.spark_session import new_session


class RunSpark(LazyPySparkResource):
    """The Spark session of one run: opened where a body asks for it, never left open."""

    def _init_session(self) -> None:
        # Theirs takes the session of whoever has one in this process, which `stop` then ends.
        if self._spark_session is None:
            self._spark_session = new_session(self.spark_config)

    def stop(self) -> None:
        """Stop the session, if one was opened; the next use opens another."""
        session, self._spark_session = self._spark_session, None
        if session is not None:
            session.stop()
