"""A Spark session by the settings: local, standalone cluster or Connect; always stopped."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from forecast_backfill.core.capacity import cap_for
from forecast_backfill.core.states import Workload
from forecast_backfill.engines.spark_errors import SparkUnavailable
from forecast_backfill.engines.spark_needs import MASTER_SETTING, PANDAS_REMEDY, check_spark
from forecast_backfill.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FAILURES_OF_A_TASK = 4
# A third of a JVM's start goes into compiling what a driver runs once.
_FAST_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
_COMMON = {
    "spark.sql.session.timeZone": "UTC",
    # Without Arrow a missing text would come back as the text `nan`.
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}


def spark_config(settings: Settings, workload: Workload) -> dict[str, str]:
    """The configuration of a session for runs of `workload`; loads nothing of Spark."""
    if settings.is_spark_connect:
        # What a Connect server may take was decided where it was started.
        return {"spark.remote": settings.spark_master, **_COMMON}
    cores = max_cores(settings, workload)
    config = {
        "spark.app.name": f"forecast-backfill {workload}",
        "spark.master": settings.spark_master,
        "spark.cores.max": str(cores),
        "spark.task.maxFailures": str(FAILURES_OF_A_TASK),
        # A second attempt beside the first would only wait for its lease.
        "spark.speculation": "false",
        "spark.scheduler.mode": "FAIR",
        "spark.scheduler.allocation.file": str(Path(__file__).with_name("spark_pools.xml")),
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.extraJavaOptions": _FAST_START,
        **_COMMON,
    }
    if settings.spark_master.startswith("local"):
        config["spark.master"] = f"local[{_local_cores(settings, cores)},{FAILURES_OF_A_TASK}]"
        config["spark.ui.enabled"] = "false"
        config["spark.driver.bindAddress"] = config["spark.driver.host"] = "127.0.0.1"
    return config


def max_cores(settings: Settings, workload: Workload, limit: int | None = None) -> int:
    """The cores that a batch takes at most; `limit` is how many slots it may hold now, if known."""
    if settings.spark_max_cores is not None:
        return settings.spark_max_cores
    if limit is not None:
        return max(1, limit)
    if workload is Workload.NIGHTLY:
        return settings.slots
    return max(1, cap_for(slots=settings.slots, nightly_peak=settings.nightly_peak, asked=None))


@contextmanager
def open_spark(settings: Settings, workload: Workload) -> Iterator[SparkSession]:
    """A session for the block.

    Raises SparkUnavailable where something that it needs is missing or does not answer.
    """

    config = spark_config(settings, workload)
    session = start_session(settings, workload, lambda: new_session(config))
    try:
        yield session
    finally:
        session.stop()


def new_session(config: Mapping[str, str]) -> SparkSession:
    """A session with the configuration; over Connect its own, whatever others the process has."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    for key, value in config.items():
        builder = builder.config(key, value)
    # One that another got would be stopped under it; without Connect a process has one anyway.
    return builder.create() if "spark.remote" in config else builder.getOrCreate()


def start_session(
    settings: Settings, workload: Workload, build: Callable[[], SparkSession]
) -> SparkSession:
    """What `build` makes, in the scheduler pool of the workload; the caller stops it.

    Raises SparkUnavailable as `open_spark` does.
    """
    check_spark(settings)
    # Else workers look for a `python3` of their own, which knows nothing of the project.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if not settings.is_spark_connect:
        # A Connect session of this process, long stopped, leaves pyspark believe in Connect.
        for name in ("SPARK_CONNECT_MODE_ENABLED", "SPARK_REMOTE"):
            os.environ.pop(name, None)
    try:
        with _own_interrupts():
            session = build()
        session.conf.set("spark.scheduler.pool", settings.spark_pool or str(workload))
    except SparkUnavailable:
        raise
    except Exception as error:
        raise SparkUnavailable(
            f"no Spark session came of {MASTER_SETTING}={settings.spark_master}",
            why=first_line(error),
            next_command="look at its log; a JVM here has to be Java 17 or newer (java -version); "
            f"correct {MASTER_SETTING}, or {PANDAS_REMEDY}",
        ) from error
    return session


def first_line(error: BaseException) -> str:
    """The line of a Spark error that tells most: the Java cause where there is one."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line.removeprefix(": ") for line in lines if not line.startswith("An error occurred")]
    return (told or lines or [type(error).__name__])[0][:500]


def _local_cores(settings: Settings, cores: int) -> int:
    asked = re.search(r"\d+", settings.spark_master)
    if asked is not None:
        return min(int(asked[0]), cores)
    return cores if settings.spark_master == "local[*]" else 1


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """Keep the handler of SIGINT: Spark puts its own in the place of Dagster's."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
