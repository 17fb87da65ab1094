"""Work on Spark in a group of its own, cancelled where it may not go on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from forecast_backfill.core.errors import ForecastBackfillError
from forecast_backfill.engines.spark_session import first_line

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

LOOK_SECONDS = 0.5
CANCEL_POLL_SECONDS = 0.2
CANCEL_SECONDS = 30.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A session, and the name by which people and a cancel find what is run on it."""

    session: SparkSession
    name: str
    description: str
    is_connect: bool

    @property
    def functions(self) -> Any:
        """Column functions for this session.

        Those of pyspark itself are of the kind of session that the process opened or ended last.
        """
        name = "pyspark.sql.connect.functions" if self.is_connect else "pyspark.sql.functions"
        return import_module(name)

    def join(self) -> None:
        """What this thread runs from now on belongs to the group."""
        if self.is_connect:
            self.session.addTag(self.name)
            return
        self.session.sparkContext.setJobGroup(self.name, self.description, interruptOnCancel=True)

    def cancel(self, thread: threading.Thread) -> None:
        """Cancel what the thread runs in the group, and wait until it is told."""
        deadline = time.monotonic() + CANCEL_SECONDS
        # Asked again and again: a job that was not submitted yet is not cancelled.
        while thread.is_alive() and time.monotonic() < deadline:
            if self.is_connect:
                self.session.interruptTag(self.name)
            else:
                self.session.sparkContext.cancelJobGroup(self.name)
            thread.join(CANCEL_POLL_SECONDS)


def struct_of(schema: pa.Schema) -> StructType:
    """An Arrow schema as Spark's own; a text of one would go to the server to be read."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)


def run_watched(group: Group, work: Callable[[], T], look: Callable[[], None]) -> T:
    """What `work` gives, in the group; an error of `look`, asked meanwhile, cancels it.

    Raises ForecastBackfillError where the job broke.
    """
    results: list[T] = []
    errors: list[Exception] = []

    def run() -> None:
        try:
            group.join()
            results.append(work())
        except Exception as error:  # noqa: BLE001 — Py4J, gRPC and pyspark share no root
            errors.append(error)

    thread = threading.Thread(target=run, name=group.name, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(LOOK_SECONDS)
            look()
    except BaseException:
        group.cancel(thread)
        raise
    if not errors:
        return results[0]
    (error,) = errors
    if isinstance(error, ForecastBackfillError):
        raise error
    raise broken(group, error) from error


def broken(group: Group, error: Exception) -> ForecastBackfillError:
    """What to say of a job of the group that broke."""
    return ForecastBackfillError(
        f"{group.description}: its job broke",
        why=first_line(error),
        next_command="look at the log of the Spark application, then run it again",
    )
