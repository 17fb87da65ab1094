"""A landed chain of two regions with windows of eight days, and a daemon that is run by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from dagster import (
    DagsterInstance,
    RunRequest,
    SensorEvaluationContext,
    build_schedule_context,
    build_sensor_context,
)

from forecast_backfill.app.run_partition import run_batch
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import Workload
from forecast_backfill.dagster_defs.assembly import build_definitions
from forecast_backfill.settings import Settings, load_settings
from forecast_backfill.wiring.partition import open_wiring
from forecast_backfill_tests.landing.hand_made import land, land_dimensions

LAST = date(2026, 11, 27)
REGIONS = ("R01", "R02")
WINDOW = 8
WINDOW_SETTINGS = {
    "window_days": WINDOW,
    "recent_days": WINDOW,
    "max_missing_per_region": 3,
    "horizon_days": 3,
    "max_degraded_percent": 40,
    "max_override_percent": 50,
}
"""Of sixteen partitions one missing degrades; more than three days of a region refuse."""


def days(first: int, last: int) -> list[date]:
    """The dates from `first` to `last` days before the last one."""
    return [LAST - timedelta(days=back) for back in range(first, last - 1, -1)]


def chain_settings(url: str | None, home: Path, **changes: Any) -> Settings:
    """The chain's settings; nightly's latest date is 27 November 2026."""
    fields: dict[str, Any] = {
        "home": home,
        "database_url": url,
        "regions": REGIONS,
        "first_date": LAST - timedelta(days=30),
        "as_of": LAST,
        **WINDOW_SETTINGS,
    }
    return load_settings(**{**fields, **changes})


def land_days(
    landing: Path, dates: Sequence[date], regions: Sequence[str] = REGIONS, *, extra: int = 0
) -> None:
    """Land two products a region and date; `extra` pieces more than usual of the first."""
    for day in dates:
        for region in regions:
            store = f"s{region}"
            lines = [
                {"store_id": store, "product_id": "0042", "quantity": 3 + day.weekday() + extra},
                {"store_id": store, "product_id": "0043", "quantity": 2},
            ]
            land(landing, Partition(date=day, region=region), lines)


def land_chain_dimensions(landing: Path) -> None:
    """Products of two demand groups, a store a region."""
    products = [
        {"product_id": "0042", "demand_group": "MILK"},
        {"product_id": "0043", "demand_group": "SOUP"},
    ]
    land_dimensions(landing, products=products, stores=[(f"s{each}", each) for each in REGIONS])


def backfill(settings: Settings, dates: Sequence[date], regions: Sequence[str] = REGIONS) -> list:
    """A campaign over the dates, done in this process."""
    partitions = [Partition(date=day, region=region) for day in dates for region in regions]
    with open_wiring(settings, workload=Workload.BACKFILL, run_id="b1") as wiring:
        request = wiring.request(campaign_id="campaign")
        return run_batch(partitions, request, wiring.ports, tell=lambda outcome: None)


@contextmanager
def at(now: Any) -> Iterator[None]:
    """The sensors' clock stands still at `now`."""
    with patch("forecast_backfill.dagster_defs.sensors.SystemClock") as clock:
        clock.return_value.now.return_value = now
        yield


class Daemon:
    """Evaluates the schedule and the sensors as a daemon does, and runs what they ask for."""

    def __init__(self, settings: Settings, instance: DagsterInstance) -> None:
        self._definitions = build_definitions(settings)
        self._repository = self._definitions.get_repository_def()
        self._instance = instance
        self.ran: list[RunRequest] = []

    def look(self, name: str) -> tuple[list[RunRequest], str | None]:
        """What a sensor asks for now, or why it asks for nothing."""
        context: SensorEvaluationContext = build_sensor_context(
            self._instance, repository_def=self._repository
        )
        found = self._repository.get_sensor_def(name).evaluate_tick(context)
        return list(found.run_requests), found.skip_message

    def tick(self, moment: Any) -> tuple[list[RunRequest], str | None]:
        """What the schedule asks for at a moment, where nothing was launched before.

        A schedule's context opens the instance anew, so it takes one that lies on disk.
        """
        with (
            DagsterInstance.local_temp() as instance,
            build_schedule_context(
                instance=instance,
                scheduled_execution_time=moment,
                repository_def=self._repository,
            ) as context,
        ):
            found = self._repository.get_schedule_def("nightly").evaluate_tick(context)
        return list(found.run_requests), found.skip_message

    def run(self, requests: Sequence[RunRequest]) -> None:
        """Carry the requests out, one after the other."""
        job = self._definitions.resolve_implicit_global_asset_job_def()
        for request in requests:
            self.ran.append(request)
            job.execute_in_process(
                asset_selection=list(request.asset_selection),
                instance=self._instance,
                tags=dict(request.tags),
                partition_key=request.partition_key,
                raise_on_error=False,
            )

    def settle(self, *names: str) -> list[str]:
        """Go on until none of the sensors asks for anything; what was launched, by key."""
        before = len(self.ran)
        for _ in range(40):
            requests = [request for name in names for request in self.look(name)[0]]
            if not requests:
                return [described(each) for each in self.ran[before:]]
            self.run(requests)
        raise AssertionError("the sensors did not come to rest")


def described(request: RunRequest) -> str:
    """Stage, workload and dates of a request: `seal backfill 2026-11-20 2026-11-22`."""
    stage, workload, first, last, _ = request.tags["forecast_backfill/launch"].split("/", 4)
    return f"{stage} {workload} {first} … {last}"
