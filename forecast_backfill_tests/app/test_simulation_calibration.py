"""The simulation against a real small campaign: the same tasks, the same cap, the wall clock.

The campaign goes through `run_batch` with its real slots, database and files, by three workers that
take partitions from one queue, with a cap of two. Reading a source is made slow, so that a task is
mostly waiting, as a large one is, and the two cores of a test machine are not what is measured.
"""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from forecast_backfill.app.run_partition import run_batch
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import Workload
from forecast_backfill.ports import Step
from forecast_backfill.simulation.compare import Scenario, compare
from forecast_backfill.simulation.policies import Policy
from forecast_backfill.simulation.shapes import Campaign, parse_night
from forecast_backfill.warehouse.capacity import PostgresCapacity
from forecast_backfill.wiring.partition import open_session, open_wiring
from forecast_backfill_tests.app.campaigns import FIRST, land_campaign, settings_for

TASK_SECONDS = 0.5
TOLERANCE = 0.25
"""Of the simulated wall clock. A task is recorded from its admission to its commit, so asking for a
slot and leaving it is not in it."""

PARTITIONS = [
    Partition(date=FIRST + timedelta(days=day), region=region)
    for day in range(8)
    for region in ("R01", "R02")
]


def slowly(step, partition):
    """A source that takes its time."""
    if step is Step.STARTED:
        time.sleep(TASK_SECONDS)


class Queue:
    """One list of partitions for several workers."""

    def __init__(self, partitions):
        self._left = iter(partitions)
        self._lock = threading.Lock()

    def __iter__(self):
        return self

    def __next__(self):
        with self._lock:
            return next(self._left)


def work(settings, queue, ready):
    with open_wiring(
        settings,
        workload=Workload.BACKFILL,
        run_id=threading.current_thread().name,
        checkpoint=slowly,
    ) as wiring:
        request = wiring.request(campaign_id="calibration")
        ready.wait()
        run_batch(queue, request, wiring.ports, tell=lambda outcome: None)


def run_for_real(settings):
    """The campaign's wall clock in seconds, from when every worker is ready."""
    ready = threading.Barrier(4)
    queue = Queue(PARTITIONS)
    with ThreadPoolExecutor(3, thread_name_prefix="worker") as pool:
        workers = [pool.submit(work, settings, queue, ready) for _ in range(3)]
        ready.wait()
        started = time.monotonic()
        for worker in workers:
            worker.result()
    return time.monotonic() - started


def test_the_simulation_tells_the_wall_clock_of_a_real_campaign(
    database_url, tmp_path, monkeypatch
):
    # A tenth of a task, as in production; half a second would be a whole one here.
    monkeypatch.setattr("forecast_backfill.app.admission.ADMISSION_POLL_SECONDS", 0.05)
    land_campaign(tmp_path, PARTITIONS)
    settings = settings_for(database_url, tmp_path, slots=4, nightly_peak=2)
    measured = run_for_real(settings)
    with open_session(settings, Workload.BACKFILL) as session:
        history = PostgresCapacity(session).task_history()
    assert history is not None
    assert history.tasks == len(PARTITIONS)
    scenario = Scenario(
        slots=4,
        nights=(parse_night("regions:2x1s"),),
        first_night=3600.0,
        deadline=3600.0,
        fit="regions",
        campaign=Campaign(
            tasks=len(PARTITIONS), durations=history.quantiles, p95=history.task_seconds.p95
        ),
        peak=2,
    )
    (simulated,) = compare(scenario, [Policy.CAP_FROM_PEAK])
    assert simulated.cap == 2
    assert abs(measured / simulated.campaign_seconds - 1) <= TOLERANCE
