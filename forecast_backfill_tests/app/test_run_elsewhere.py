"""A batch in other processes: what happens where its job breaks, stops or is told to stop."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from datetime import timedelta

import pytest

from forecast_backfill.app.run_elsewhere import Report, run_elsewhere, share_held
from forecast_backfill.app.run_partition import run_batch
from forecast_backfill.core.errors import DatabaseUnavailable
from forecast_backfill.core.outcome import Failed, Written
from forecast_backfill.core.partition import DateRange, Partition, partitions_of
from forecast_backfill.core.states import Workload
from forecast_backfill.warehouse.spark_share import PostgresSparkShare
from forecast_backfill.wiring.partition import open_session, open_wiring
from forecast_backfill_tests.app.campaigns import (
    FIRST,
    land_campaign,
    ledger_rows,
    settings_for,
)

PARTITIONS = list(
    partitions_of(DateRange(start=FIRST, end=FIRST + timedelta(days=2)), ["R01", "R02"])
)


class ScriptedJob:
    """Reports what it is given, then ends with the failure that it is given."""

    def __init__(self, reports: Sequence[Report], failure: str | None = None) -> None:
        self._reports = deque(reports)
        self._failure = failure
        self.is_cancelled = False

    @property
    def is_over(self) -> bool:
        return not self._reports or self.is_cancelled

    @property
    def failure(self) -> str | None:
        return self._failure

    def poll(self, seconds: float) -> Iterator[Report]:
        while self._reports:
            yield self._reports.popleft()

    def cancel(self) -> None:
        self.is_cancelled = True


class Site:
    """The ports of a run, and the jobs that were started for it."""

    def __init__(self, wiring) -> None:
        self.ports = wiring.ports
        self.request = wiring.request(campaign_id="elsewhere")
        self.jobs: list[ScriptedJob] = []
        self.started: list[tuple[list[Partition], bool]] = []
        self.told = []

    def written(self, partitions: Sequence[Partition]) -> list[Report]:
        """The outcomes of the partitions, done here in the place of another process."""
        return run_batch(partitions, self.request, self.ports, lambda outcome: None)

    def run(self, *jobs: ScriptedJob):
        """The batch, whose jobs are these in turn."""
        self.jobs = list(jobs)

        def start(left: Sequence[Partition], limit: int, is_careful: bool):
            self.started.append((list(left), is_careful))
            return nullcontext(self.jobs[len(self.started) - 1])

        return run_elsewhere(PARTITIONS, self.request, self.ports, self.told.append, start)


@pytest.fixture
def site(database, tmp_path) -> Iterator[Site]:
    land_campaign(tmp_path, PARTITIONS)
    settings = settings_for(database, tmp_path)
    with open_wiring(settings, workload=Workload.BACKFILL, run_id="5f0c") as wiring:
        yield Site(wiring)


def test_every_outcome_is_told_and_returned(site):
    outcomes = site.run(ScriptedJob(site.written(PARTITIONS)))
    assert [type(each) for each in outcomes] == [Written] * 4
    assert site.told == outcomes


def test_what_a_broken_job_left_is_started_again_one_task_a_partition(site):
    first, rest = site.written(PARTITIONS[:1]), site.written(PARTITIONS[1:])
    site.run(ScriptedJob(first, "an executor was lost"), ScriptedJob(rest))
    assert site.started == [(PARTITIONS, False), (PARTITIONS[1:], True)]
    assert [each.partition for each in site.told] == PARTITIONS


def test_what_two_broken_jobs_left_has_failed_with_the_reason(site, database):
    site.ports.ledger.start(PARTITIONS[3], site.request)
    done = site.written(PARTITIONS[:3])
    outcomes = site.run(ScriptedJob(done, "lost"), ScriptedJob([], "out of memory"))
    assert outcomes[3] == Failed(partition=PARTITIONS[3], reason="its job broke: out of memory")
    assert ledger_rows(database)[3][2:4] == ("failed", "absent")


def test_a_job_that_ends_without_a_word_of_a_partition_is_no_success(site):
    outcomes = site.run(ScriptedJob([]), ScriptedJob([]))
    assert [type(each) for each in outcomes] == [Failed] * 4
    assert outcomes[0].reason == "its job broke: it ended early"


def test_an_error_that_kept_the_other_side_from_starting_ends_the_batch(site, database):
    error = DatabaseUnavailable("no database", why="a test", next_command="x")
    site.ports.ledger.start(PARTITIONS[0], site.request)
    job = ScriptedJob([error, *site.written(PARTITIONS[1:])])
    with pytest.raises(DatabaseUnavailable):
        site.run(job)
    assert job.is_cancelled
    assert site.told == []
    # What was at work elsewhere is not left as running.
    assert ledger_rows(database)[0][2] == "failed"


def test_whoever_stops_the_run_stops_its_job(site):
    job = ScriptedJob(site.written(PARTITIONS))

    def interrupt(outcome):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_elsewhere(
            PARTITIONS,
            site.request,
            site.ports,
            interrupt,
            lambda left, limit, careful: nullcontext(job),
        )
    assert job.is_cancelled


def test_a_second_batch_of_the_workload_waits_until_the_first_is_over(site, database, tmp_path):
    settings = settings_for(database, tmp_path)
    with (
        open_session(settings, Workload.BACKFILL) as first,
        open_session(settings, Workload.BACKFILL) as second,
        open_session(settings, Workload.NIGHTLY) as night,
    ):
        mine, other = PostgresSparkShare(first), PostgresSparkShare(second)
        with share_held(site.request, site.ports, mine):
            assert other.try_take() is None
            # The night's share is its own.
            with PostgresSparkShare(night).try_take() as taken:
                assert taken is None
        with share_held(site.request, site.ports, other):
            assert mine.try_take() is None
