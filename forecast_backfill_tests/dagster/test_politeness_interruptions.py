"""Runs of both kinds while daemon, code server, a worker and the database go away and come back."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from forecast_backfill_tests.dagster.launches import (
    Launcher,
    failures,
    have_ended,
    open_launcher,
    statuses,
    worker_of,
)
from forecast_backfill_tests.dagster.station import (
    PATIENCE,
    REGIONS,
    Station,
    open_station,
    start_daemon,
    wait_for,
)

SLOWLY = 5.0
"""So long a partition that on a busy machine two runs, started one after the other, meet."""

DAYS_A_RUN = 2
PARTITIONS_A_RUN = DAYS_A_RUN * len(REGIONS)


@pytest.fixture(scope="module")
def station() -> Iterator[Station]:
    """Dagster over a chain whose partitions can be slowed down."""
    with open_station() as found:
        start_daemon(found)
        yield found


@pytest.fixture(scope="module")
def launcher(station: Station) -> Launcher:
    """Launches runs."""
    return open_launcher(station)


def launch(launcher: Launcher, first: int, number: int) -> list[str]:
    return [launcher.backfill(first + each, days=DAYS_A_RUN) for each in range(number)]


def written(station: Station, runs: list[str]) -> Counter[str]:
    """How often each partition was written by the runs."""
    query = "SELECT date || '|' || region FROM partition_event WHERE kind = 'written' AND "
    return Counter(key for (key,) in station.rows(query + "run_id = ANY(%s)", runs))


def written_once(station: Station, runs: list[str]) -> None:
    """Every partition was written, each by one commit, and its one row is there once."""
    found = written(station, runs)
    assert (len(found), set(found.values())) == (PARTITIONS_A_RUN * len(runs), {1})
    rows = "SELECT count(*), count(DISTINCT (date, region)) FROM daily_demand"
    ((all_rows, partitions),) = station.rows(rows)
    assert all_rows == partitions


def wait_for_two_in_flight(station: Station, *, then: float) -> None:
    """Partitions are slow until two runs are in flight, and take `then` seconds from then on."""
    wait_for(lambda: station.flights() == 2, "two partitions in flight")
    station.slow_down(then)


def test_both_kinds_come_to_their_end_and_a_killed_daemon_goes_on_where_it_was(
    station: Station, launcher: Launcher
) -> None:
    """Four runs of each kind are queued: nightly goes first, and then backfill has its cap."""
    station.slow_down(SLOWLY)
    backfill = launch(launcher, 0, 4)
    nightly = [launcher.nightly(region, region) for region in REGIONS]
    wait_for(lambda: station.flights() > 0, "a partition of backfill in flight")
    station.kill("daemon")
    assert not have_ended(station, backfill)
    station.start("daemon")
    wait_for(lambda: have_ended(station, nightly), "nightly's ends")
    assert failures(station, nightly) == []
    wait_for_two_in_flight(station, then=1.0)
    most = 0
    deadline = time.monotonic() + PATIENCE
    while not have_ended(station, backfill):
        assert time.monotonic() < deadline, "backfill does not come to its end"
        most = max(most, station.flights())
        time.sleep(0.05)
    assert failures(station, nightly + backfill) == []
    assert most == 2
    written_once(station, backfill)
    assert station.flights() == station.flights("nightly") == 0


def test_a_dead_worker_and_code_server_cost_one_run_and_the_queue_waits_for_the_next_server(
    station: Station, launcher: Launcher
) -> None:
    station.slow_down(SLOWLY)
    dead, *others = launch(launcher, 10, 4)
    wait_for_two_in_flight(station, then=1.0)
    wait_for(lambda: statuses(station, [dead]) == ["STARTED"], "the first run's start")
    station.kill("code")
    os.kill(worker_of(station, dead), signal.SIGKILL)
    time.sleep(2.0)
    station.start("code")
    wait_for(lambda: have_ended(station, [dead, *others]), "every run's end")
    assert statuses(station, [dead]) == ["FAILURE"]
    assert failures(station, others) == []
    written_once(station, others)
    assert max(written(station, [dead]).values(), default=1) == 1
    assert station.flights() == 0


def test_a_restart_of_the_database_costs_no_partition(station: Station, launcher: Launcher) -> None:
    station.slow_down(SLOWLY)
    runs = launch(launcher, 20, 3)
    wait_for_two_in_flight(station, then=0.5)
    station.restart_database()
    wait_for(lambda: have_ended(station, runs), "every run's end")
    assert failures(station, runs) == []
    written_once(station, runs)
    assert station.flights() == 0
