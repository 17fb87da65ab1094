"""dagster-pyspark's lazy session, stopped as soon as nobody uses it."""

from __future__ import annotations

from dagster_pyspark import LazyPySparkResource


class RunSpark(LazyPySparkResource):
    """The Spark session of one run: opened where a body asks for it, never left open."""

    def stop(self) -> None:
        """Stop the session, if one was opened; the next use opens another."""
        session, self._spark_session = self._spark_session, None
        if session is not None:
            session.stop()
