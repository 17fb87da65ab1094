"""A campaign through the real daemon, and on-call: nightly's start, cap, pause, kill, cancel."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from forecast_backfill.app.campaign import BackfillState
from forecast_backfill.dagster_defs.graphql_client import DagsterClient
from forecast_backfill_tests.dagster.launches import (
    Launcher,
    have_ended,
    open_launcher,
    worker_of,
)
from forecast_backfill_tests.dagster.station import (
    FIRST,
    SEAM,
    Station,
    open_station,
    start_daemon,
    wait_for,
)

TICK_SECONDS = 1.0
NOISE_SECONDS = 2.0
"""What a start may take longer on a busy machine, whoever else runs."""


@pytest.fixture(scope="module")
def station() -> Iterator[Station]:
    """Dagster over a chain whose partitions can be slowed down."""
    with open_station() as found:
        yield found


@pytest.fixture(scope="module")
def campaign(station: Station) -> str:
    """A backfill of all dates × regions, launched by the command line; its id.

    The daemon is started after it, since it looks for backfills at once and then every 30 seconds.
    Until the cap is turned its runs stay in the queue.
    """
    turn(station, "cap", "0")
    launched = launch_campaign(station)
    start_daemon(station)
    wait_for(lambda: len(runs_of(station, launched)) == 4, "the campaign's runs")
    return launched


@pytest.fixture(scope="module")
def launcher(station: Station, campaign: str) -> Launcher:
    """Launches runs of nightly."""
    return open_launcher(station)


@pytest.fixture(scope="module")
def alone(station: Station, launcher: Launcher) -> float:
    """How long nightly's start takes while the campaign stays in the queue."""
    return start_delay(station, launcher)


@pytest.fixture(scope="module")
def other(station: Station, campaign: str) -> str:
    """A second campaign, whose runs come into the queue behind those of the first."""
    return launch_campaign(station)


def launch_campaign(station: Station) -> str:
    words = ("backfill", "--from", str(FIRST), "--to", str(SEAM), "--reprocess", "--json")
    found = station.call(*words)
    assert found.returncode == 0, found.stderr
    return str(json.loads(found.stdout)["campaign_id"])


def start_delay(station: Station, launcher: Launcher) -> float:
    """Seconds that a nightly run spends in the queue and in wait for its slots."""
    run_id = launcher.nightly()
    wait_for(lambda: have_ended(station, [run_id]), "nightly's end")
    return queued_seconds(station, run_id) + waited_seconds(station, run_id)


def queued_seconds(station: Station, run_id: str) -> float:
    query = (
        "SELECT extract(epoch FROM max(timestamp) FILTER (WHERE dagster_event_type ="
        " 'PIPELINE_STARTING') - min(timestamp) FILTER (WHERE dagster_event_type ="
        " 'PIPELINE_ENQUEUED'))::float8 FROM event_logs WHERE run_id = %s"
    )
    return float(station.rows(query, run_id)[0][0])


def waited_seconds(station: Station, run_id: str) -> float:
    query = "SELECT coalesce(sum(seconds), 0) FROM workload_wait WHERE run_id = %s"
    return float(station.rows(query, run_id)[0][0])


def turn(station: Station, *words: str) -> dict:
    """Turn a knob by the command line."""
    found = station.call(*words, "--reason", "test", "--json")
    assert found.returncode == 0, found.stdout + found.stderr
    return dict(json.loads(found.stdout))


def runs_of(station: Station, campaign: str) -> list[str]:
    query = "SELECT run_id FROM run_tags WHERE key = 'dagster/backfill' AND value = %s"
    return [run_id for (run_id,) in station.rows(query, campaign)]


def in_flight(station: Station, number: int) -> None:
    wait_for(lambda: station.flights() == number, f"{number} partitions in flight")


def test_nightly_starts_beside_a_campaign_as_if_it_were_alone(
    station: Station, launcher: Launcher, alone: float, campaign: str
) -> None:
    station.slow_down(1.0)
    turn(station, "cap", "auto")
    in_flight(station, 2)
    assert start_delay(station, launcher) - alone <= TICK_SECONDS + NOISE_SECONDS
    in_flight(station, 2)


def test_without_the_cap_nightly_would_wait_for_a_slot_until_a_partition_ends(
    station: Station, launcher: Launcher, campaign: str
) -> None:
    turn(station, "cap", "4")
    in_flight(station, 4)
    station.slow_down(4.0)
    time.sleep(1.0)
    run_id = launcher.nightly()
    wait_for(lambda: waited_seconds(station, run_id) > 0, "nightly's wait")
    (held,) = station.rows(
        "SELECT cause, reason FROM workload_wait WHERE run_id = %s AND held_until > now()", run_id
    )
    assert held == ("cap", "all 4 slots of nightly are taken")
    station.slow_down(1.0)
    wait_for(lambda: have_ended(station, [run_id]), "nightly's end")


def test_a_cap_takes_hold_at_the_next_partition(station: Station, campaign: str) -> None:
    station.slow_down(1.5)
    turn(station, "cap", "4")
    in_flight(station, 4)
    turn(station, "cap", "1")
    in_flight(station, 1)
    assert max(sampled_flights(station, seconds=1.5)) == 1
    turn(station, "cap", "0")
    in_flight(station, 0)
    written = station.written()
    assert max(sampled_flights(station, seconds=1.5)) == 0
    assert station.written() == written
    turn(station, "cap", "4")
    in_flight(station, 4)


def sampled_flights(station: Station, *, seconds: float) -> list[int]:
    deadline = time.monotonic() + seconds
    found: list[int] = []
    while time.monotonic() < deadline:
        found.append(station.flights())
        time.sleep(0.02)
    return found


def test_a_pause_starts_nothing_more_and_keeps_the_campaign(
    station: Station, campaign: str, other: str
) -> None:
    paused = turn(station, "pause")
    time.sleep(2.5)
    assert starts_after(station, paused["changed_at"], seconds=2.0) == 0
    told = json.loads(station.call("status", "--json").stdout)["workloads"]["backfill"]
    assert (told["motion"], told["in_flight"], told["in_force"]["slots"]) == ("paused", [], 0)
    assert told["waits"]["pause"]["held"] == 4
    assert told["changes"][0]["verb"] == "pause"
    assert DagsterClient(station.url).progress(campaign).state is BackfillState.ACTIVE


def test_a_resume_starts_the_first_partition_within_two_seconds(
    station: Station, campaign: str
) -> None:
    resumed = turn(station, "resume")
    wait_for(lambda: starts_after(station, resumed["changed_at"]) > 0, "the first partition")
    query = "SELECT min(at) FROM partition_event WHERE kind = 'started' AND at > %s"
    ((first,),) = station.rows(query, resumed["changed_at"])
    assert (first - datetime.fromisoformat(resumed["changed_at"])).total_seconds() <= 2.0


def starts_after(station: Station, at: str, *, seconds: float = 0.0) -> int:
    query = (
        "SELECT count(*) FROM partition_event WHERE kind = 'started' AND workload = 'backfill'"
        " AND at > %s::timestamptz + make_interval(secs => %s)"
    )
    return station.count(query, at, seconds)


def test_after_a_kill_nothing_commits_not_even_from_a_worker_that_was_stopped(
    station: Station, campaign: str, other: str
) -> None:
    """One worker hangs in its commit, one is slow in it, the others are held by the cap."""
    turn(station, "cap", "auto")
    in_flight(station, 2)
    station.slow_down(8.0)
    wait_for(lambda: len(sleepers(station)) == 2, "two slow commits")
    workers = {run_id: worker_of(station, run_id) for run_id in active_runs(station, campaign)}
    stopped = workers[sleepers(station)[0]]
    os.kill(stopped, signal.SIGSTOP)
    try:
        told = turn(station, "kill", "--campaign", campaign)
        assert (told["in_flight"], told["campaigns"], told["is_paused"]) == (0, [campaign], False)
        assert written_after_kill(station, campaign) == 0
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(stopped, signal.SIGCONT)
    wait_for(lambda: not any(is_alive(each) for each in workers.values()), "the workers' ends")
    assert written_after_kill(station, campaign) == 0
    assert have_ended(station, runs_of(station, campaign))


def written_after_kill(station: Station, campaign: str) -> int:
    query = (
        "SELECT count(*) FROM partition_event WHERE kind = 'written' AND campaign_id = %s"
        " AND at > (SELECT max(at) FROM workload_change WHERE verb = 'kill')"
    )
    return station.count(query, campaign)


def active_runs(station: Station, campaign: str) -> list[str]:
    query = "SELECT run_id FROM runs WHERE status = 'STARTED' AND run_id = ANY(%s)"
    return [run_id for (run_id,) in station.rows(query, runs_of(station, campaign))]


def sleepers(station: Station) -> list[str]:
    """The runs whose commit sleeps now."""
    query = (
        "SELECT split_part(application_name, ' ', 1) FROM pg_stat_activity"
        " WHERE wait_event = 'PgSleep' ORDER BY 1"
    )
    return [run_id for (run_id,) in station.rows(query)]


def is_alive(process: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, 0)
        return True
    return False


def test_a_backfill_that_is_cancelled_in_the_ui_lets_go_of_everything(
    station: Station, other: str
) -> None:
    station.slow_down(0.5)
    in_flight(station, 2)
    client = DagsterClient(station.url)
    client.cancel(other)
    wait_for(lambda: have_ended(station, runs_of(station, other)), "the ends of its runs")
    assert client.progress(other).status in ("CANCELING", "CANCELED")
    in_flight(station, 0)
    written = station.written()
    time.sleep(2.0)
    assert (station.flights(), station.written()) == (0, written)
    assert station.count("SELECT count(*) FROM partition_ledger WHERE status = 'running'") == 0
