"""What Spark needs of this machine and of the network, looked for before it is started."""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from forecast_backfill.engines.spark_errors import SparkUnavailable
from forecast_backfill.settings import PREFIX, Settings

CONNECT_PORT = 15002
REACH_SECONDS = 10.0
MASTER_SETTING = f"{PREFIX}SPARK_MASTER"
PANDAS_REMEDY = f"unset {PREFIX}ENGINE (pandas in this process)"


def check_spark(settings: Settings, environment: Mapping[str, str] | None = None) -> None:
    """Whether pyspark, Java and the master are there; raises SparkUnavailable with the remedy."""
    environment = os.environ if environment is None else environment
    needed = ["pyspark", "grpc_status", "zstandard"] if settings.is_spark_connect else ["pyspark"]
    check_packages(*needed)
    if not settings.is_spark_connect and not has_java(environment):
        raise SparkUnavailable(
            f"{MASTER_SETTING}={settings.spark_master} needs Java 17 or newer",
            why="there is no `java` on PATH and no JAVA_HOME",
            next_command="apt-get install openjdk-17-jre-headless (or default-jre-headless), use a "
            f"Connect server ({MASTER_SETTING}=sc://host:{CONNECT_PORT}), or {PANDAS_REMEDY}",
        )
    if not settings.spark_master.startswith("local"):
        _check_reachable(settings.spark_master)


def check_packages(*names: str) -> None:
    """Whether the packages can be imported; raises SparkUnavailable where one cannot."""
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise SparkUnavailable(
            f"{PREFIX}ENGINE=spark needs {missing[0]}",
            why=f"the package {missing[0]} is not installed",
            next_command=f"pip install 'forecast-backfill[spark]', or {PANDAS_REMEDY}",
        )


def has_java(environment: Mapping[str, str]) -> bool:
    """Whether a JVM can be started."""
    home = environment.get("JAVA_HOME")
    if home:
        return (Path(home) / "bin" / "java").exists()
    return shutil.which("java", path=environment.get("PATH", "")) is not None


def _check_reachable(master: str) -> None:
    # Spark itself tries for a minute, a Connect client for ten.
    addresses = re.findall(r"([^/:,;\s]+)(?::([0-9]+))?", master.split("://", 1)[1].split("/")[0])
    reasons: list[str] = []
    for host, port in addresses:
        try:
            address = (host, int(port or CONNECT_PORT))
            socket.create_connection(address, timeout=REACH_SECONDS).close()
            return
        except OSError as error:
            reasons.append(f"{host}:{port or CONNECT_PORT}: {error.strerror or error}")
    raise SparkUnavailable(
        f"{MASTER_SETTING}={master} does not answer",
        why="; ".join(reasons),
        next_command=f"start that server, correct {MASTER_SETTING}, or {PANDAS_REMEDY}",
    )
