"""Real Spark servers for tests, started with `spark-class` from the pip package."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import forecast_backfill
from forecast_backfill.engines.spark_needs import has_java

START_SECONDS = 90.0
CHECKOUT = Path(forecast_backfill.__file__).parent.parent
POOLS = Path(forecast_backfill.__file__).parent / "engines" / "spark_pools.xml"


def why_skipped() -> str | None:
    """Why the tests with Spark cannot run here, with the remedy; None where they can."""
    for name in ("pyspark", "grpc_status", "dagster_pyspark"):
        if find_spec(name) is None:
            return f"{name} is not installed: pip install -e '.[spark]'"
    if not has_java(os.environ):
        return "there is no Java: apt-get install openjdk-17-jre-headless (or default-jre-headless)"
    return None


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A standalone cluster of one worker; its executors are children of `worker`."""

    master: str
    worker: subprocess.Popen[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectServer:
    """A Connect server and the address of its REST API."""

    master: str
    api: str

    def stages(self) -> list[dict[str, Any]]:
        """Every stage that it ran, the latest first."""
        applications = _get(f"{self.api}/applications")
        return _get(f"{self.api}/applications/{applications[0]['id']}/stages")

    def kept(self) -> list[dict[str, Any]]:
        """What it keeps of frames that were persisted."""
        applications = _get(f"{self.api}/applications")
        return _get(f"{self.api}/applications/{applications[0]['id']}/storage/rdd")

    def active_tasks(self) -> int:
        """How many Spark tasks run now."""
        return sum(stage["numActiveTasks"] for stage in self.stages())


@contextmanager
def standalone_cluster(directory: Path) -> Iterator[Cluster]:
    """A master and a worker of two cores."""
    port, ui, worker_ui = free_port(), free_port(), free_port()
    master = f"spark://127.0.0.1:{port}"
    deploy = "org.apache.spark.deploy"
    started: list[subprocess.Popen[bytes]] = []
    try:
        started.append(
            _spark_class(
                directory / "master.log",
                f"{deploy}.master.Master",
                *("--host", "127.0.0.1", "--port", str(port), "--webui-port", str(ui)),
            )
        )
        wait_for_port(port)
        started.append(
            _spark_class(
                directory / "worker.log",
                f"{deploy}.worker.Worker",
                *("--host", "127.0.0.1", "--webui-port", str(worker_ui), "--cores", "2"),
                *("--memory", "2g", "--work-dir", str(directory / "work"), master),
            )
        )
        wait_for_port(worker_ui)
        yield Cluster(master=master, worker=started[1])
    finally:
        for process in reversed(started):
            stop(process)


@contextmanager
def connect_server(directory: Path) -> Iterator[ConnectServer]:
    """A Connect server of two cores with the FAIR pools that ship with the project."""
    port, ui = free_port(), free_port()
    configuration = {
        "spark.connect.grpc.binding.port": port,
        "spark.ui.port": ui,
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.scheduler.mode": "FAIR",
        "spark.scheduler.allocation.file": POOLS,
        "spark.sql.warehouse.dir": directory / "spark-warehouse",
    }
    process = _spark_class(
        directory / "connect.log",
        "org.apache.spark.deploy.SparkSubmit",
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
        *("--master", "local[2,4]"),
        *(part for name, value in configuration.items() for part in ("--conf", f"{name}={value}")),
        "spark-internal",
    )
    try:
        wait_for_port(port)
        yield ConnectServer(master=f"sc://127.0.0.1:{port}", api=f"http://127.0.0.1:{ui}/api/v1")
    finally:
        stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a server and all that it started: it is a process group of its own."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, how)
        except ProcessLookupError:
            break
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def wait_for_port(port: int) -> None:
    """Until somebody listens on it."""
    wait_until(lambda: _is_open(port), f"nobody listens on port {port}")


def wait_until(condition: Any, otherwise: str, seconds: float = START_SECONDS) -> None:
    """Until the condition holds; fails with `otherwise` where it never does."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.1)


def _is_open(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def _spark_class(log: Path, name: str, *arguments: str) -> subprocess.Popen[bytes]:
    import pyspark

    home = Path(pyspark.__file__).parent
    environment = os.environ | {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1",
        "SPARK_DAEMON_MEMORY": "512m",
        # Every JVM, executors too: a third of their start goes into compiling what runs once.
        "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(CHECKOUT),
    }
    with log.open("wb") as output:
        return subprocess.Popen(
            [str(home / "bin" / "spark-class"), name, *arguments],
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=log.parent,
            start_new_session=True,
        )


def _get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return json.load(answer)
