"""A chain under load: code server, webserver and daemon as processes that a test may kill."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from forecast_backfill.core.partition import Partition
from forecast_backfill.core.signal import DEFAULT_THRESHOLDS
from forecast_backfill.settings import load_settings
from forecast_backfill.warehouse.connect import resolve_database_url
from forecast_backfill.warehouse.embedded import EmbeddedServer
from forecast_backfill.warehouse.migrate import migrate
from forecast_backfill_tests.dagster.asking import ask
from forecast_backfill_tests.dagster.conftest import CHECKOUT, free_port
from forecast_backfill_tests.landing.hand_made import land, land_dimensions

REGIONS = ("R01", "R02", "R03", "R04")
FIRST = date(2026, 1, 5)
DATES = 80
SEAM = FIRST + timedelta(days=DATES)
"""The latest date, which is nightly's."""

PATIENCE = 180.0
"""Far more than anything takes: the machine may be busy with other things."""

SLOW = """
    CREATE TABLE forecast_backfill.slowness (seconds float8 NOT NULL);
    INSERT INTO forecast_backfill.slowness VALUES (0);
    CREATE FUNCTION forecast_backfill.slow() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM pg_sleep((SELECT seconds FROM forecast_backfill.slowness));
        RETURN NULL;
    END $$;
    CREATE TRIGGER slow AFTER INSERT ON forecast_backfill.daily_demand
    FOR EACH STATEMENT EXECUTE FUNCTION forecast_backfill.slow()
"""
AUTOMATIC = """
{ repositoriesOrError { ... on RepositoryConnection {
  nodes { sensors { id } schedules { id } }
} } }
"""
STOP_SENSOR = """
mutation Stop($id: String) {
  stopSensor(id: $id) { ... on StopSensorMutationResult { instigationState { status } } }
}
"""
STOP_SCHEDULE = """
mutation Stop($id: String) {
  stopRunningSchedule(id: $id) { ... on ScheduleStateResult { scheduleState { status } } }
}
"""
COMMANDS = {
    "code": "-m dagster api grpc -m forecast_backfill.definitions -h 127.0.0.1 -p {code}",
    "web": "-m dagster_webserver -w workspace.yaml -h 127.0.0.1 -p {web}",
    "daemon": "-m dagster._daemon run -w workspace.yaml",
}


@dataclass(kw_only=True)
class Station:
    """The processes of one Dagster over one home, and what its database says."""

    root: Path
    ports: Mapping[str, int]
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    _connection: psycopg.Connection[Any] | None = None

    @property
    def url(self) -> str:
        """The webserver's address."""
        return f"http://127.0.0.1:{self.ports['web']}"

    @property
    def database(self) -> EmbeddedServer:
        """The embedded server."""
        return EmbeddedServer(self.root / "home")

    def start(self, name: str) -> None:
        """Start one of the processes, each in a group of its own."""
        command = COMMANDS[name].format(**self.ports).split()
        with (self.root / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, *command],
                cwd=self.root,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self, name: str) -> None:
        """End one of the processes with SIGKILL, not its children."""
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def close(self) -> None:
        """End every process and its children, then the database."""
        for process in self.processes.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self._disconnect()
        self.database.stop()

    def is_listening(self, name: str) -> bool:
        """Whether the process takes connections."""
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.ports[name])) == 0

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """What a query finds; it may change things."""
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(
                resolve_database_url(load_settings()),
                autocommit=True,
                options="-c search_path=forecast_backfill,public",
            )
        found = self._connection.execute(query, values)  # type: ignore[arg-type]
        return found.fetchall() if found.description else []

    def restart_database(self) -> None:
        """Stop the database under everybody, and start it again."""
        self._disconnect()
        self.database.stop()
        self.database.start()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def slow_down(self, seconds: float) -> None:
        """How long each write of a partition takes from now on."""
        self.rows("UPDATE slowness SET seconds = %s", seconds)

    def count(self, query: str, *values: Any) -> int:
        """The one number that a query finds."""
        return int(self.rows(query, *values)[0][0])

    def flights(self, workload: str = "backfill") -> int:
        """How many slots a workload holds."""
        name = {"backfill": 0x666C_7962, "nightly": 0x666C_796E}[workload]
        return self.count(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted"
            " AND classid::bigint = %s",
            name,
        )

    def written(self) -> int:
        """How many partitions were written since the beginning."""
        return self.count("SELECT count(*) FROM partition_event WHERE kind = 'written'")

    def call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Call the command line as a user does."""
        command = [sys.executable, "-c", "from forecast_backfill.cli.main import main; main()"]
        return subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=120)


def wait_for(condition: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
    """Wait until the condition holds."""
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, f"waited {patience:.0f} s for {what}"
        time.sleep(0.1)


@contextmanager
def open_station() -> Iterator[Station]:
    """A station on a fresh home, ready but for its daemon; our environment points at it."""
    root = Path(tempfile.mkdtemp(prefix="fb-polite-"))
    station = Station(root=root, ports={"code": free_port(), "web": free_port()})
    shutil.copy(CHECKOUT / "dagster.yaml", root)
    (root / "workspace.yaml").write_text(
        f"load_from:\n  - grpc_server: {{host: 127.0.0.1, port: {station.ports['code']}}}\n"
    )
    land_dates(root / "home" / "landing", range(DATES + 1))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment(station).items():
            patch.setenv(name, value)
        patch.delenv("FORECAST_BACKFILL_DATABASE_URL", raising=False)
        url = resolve_database_url(load_settings())
        migrate(url)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(SLOW)
        try:
            station.start("code")
            wait_for(lambda: station.is_listening("code"), "the code server")
            station.start("web")
            wait_for(lambda: _answers(station.url), "the webserver")
            yield station
        finally:
            station.close()
            shutil.rmtree(root)


def environment(station: Station) -> dict[str, str]:
    """Settings: four slots, two of them nightly's; no signal may slow the campaign down."""
    signals = ",".join(f"{name}=off" for name in DEFAULT_THRESHOLDS)
    return {
        "DAGSTER_HOME": str(station.root),
        "PYTHONPATH": str(CHECKOUT),
        "FORECAST_BACKFILL_HOME": str(station.root / "home"),
        "FORECAST_BACKFILL_DAGSTER_URL": station.url,
        "FORECAST_BACKFILL_REGIONS": ",".join(REGIONS),
        "FORECAST_BACKFILL_FIRST_DATE": FIRST.isoformat(),
        "FORECAST_BACKFILL_AS_OF": SEAM.isoformat(),
        "FORECAST_BACKFILL_SLOTS": "4",
        "FORECAST_BACKFILL_NIGHTLY_PEAK": "2",
        "FORECAST_BACKFILL_BATCH_SIZE": str(DATES),
        "FORECAST_BACKFILL_BACKFILL_NICE": "0",
        "FORECAST_BACKFILL_PACE_THRESHOLDS": signals,
    }


def land_dates(landing: Path, numbers: Iterable[int]) -> None:
    """One store a region, one line a partition."""
    stores = [(f"s{region}", region) for region in REGIONS]
    land_dimensions(landing, products=[{"product_id": "0042"}], stores=stores)
    for number in numbers:
        for region in REGIONS:
            land(
                landing,
                Partition(date=FIRST + timedelta(days=number), region=region),
                [{"store_id": f"s{region}", "product_id": "0042"}],
            )


def start_daemon(station: Station) -> None:
    """Start the daemon, once nothing launches runs but the test."""
    silence(station)
    station.start("daemon")
    wait_for(lambda: daemon_beats(station) > 0, "the daemon")


def silence(station: Station) -> None:
    """Stop what is on by default: the sensor `night` would build nightly's date as well, beside
    the test's runs, and of two runs of one partition the later takes it over."""
    (repository,) = ask(station.url, AUTOMATIC, {})["repositoriesOrError"]["nodes"]
    for sensor in repository["sensors"]:
        found = ask(station.url, STOP_SENSOR, {"id": sensor["id"]})["stopSensor"]
        assert found.get("instigationState") == {"status": "STOPPED"}, found
    for schedule in repository["schedules"]:
        found = ask(station.url, STOP_SCHEDULE, {"id": schedule["id"]})["stopRunningSchedule"]
        assert found.get("scheduleState") == {"status": "STOPPED"}, found


def daemon_beats(station: Station) -> int:
    """How many heartbeats of the queue are younger than 20 seconds."""
    return station.count(
        "SELECT count(*) FROM daemon_heartbeats WHERE daemon_type = 'QUEUED_RUN_COORDINATOR'"
        " AND timestamp > (now() AT TIME ZONE 'UTC') - interval '20 seconds'"
    )


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/server_info", timeout=2):
            return True
    except OSError:
        return False
