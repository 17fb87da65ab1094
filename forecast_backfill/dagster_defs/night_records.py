"""Reads from Dagster's run records which steps of nightly's runs were at work, and when."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from dagster import DagsterInstance, RunsFilter
from dagster._core.storage.dagster_run import RunRecord
from dagster._core.storage.event_log import EventLogStorage
from dagster._core.storage.runs import RunStorage

from forecast_backfill.app.measure_capacity import CapacityPorts
from forecast_backfill.core.night_state import NightHours
from forecast_backfill.core.peak import NightStep, Usage, night_of
from forecast_backfill.core.states import Workload
from forecast_backfill.dagster_defs.night_assets import DEMAND_MODEL
from forecast_backfill.dagster_defs.storage import SharedPostgresStorage
from forecast_backfill.dagster_defs.tags import WORKLOAD_TAG
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.capacity import PostgresCapacity
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.outlook import capacity_basis

PAGE = 200
WHOLE_RUN = "run"
"""The step of a run that recorded none: it held a slot nevertheless."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecords:
    """Where Dagster keeps runs and their events; no webserver and no daemon is asked."""

    runs: RunStorage
    events: EventLogStorage


@contextmanager
def open_run_records() -> Generator[RunRecords]:
    """The records of DAGSTER_HOME's instance; without it those in the project's own database."""
    if os.environ.get("DAGSTER_HOME"):
        with DagsterInstance.get() as instance:
            yield RunRecords(runs=instance.run_storage, events=instance.event_log_storage)
        return
    storage = SharedPostgresStorage.from_config_value(None, {"should_autocreate_tables": True})
    try:
        yield RunRecords(runs=storage.run_storage, events=storage.event_log_storage)
    finally:
        storage.event_log_storage.dispose()
        storage.run_storage.dispose()


@contextmanager
def open_capacity_ports(
    settings: Settings,
    session: Session,
    *,
    nights: int | None = None,
    headroom: int | None = None,
) -> Generator[CapacityPorts]:
    """What `measure` needs; nights and headroom are the settings' where they are not given."""
    weights = {DEMAND_MODEL: settings.fit_slots}
    basis = capacity_basis(settings, headroom=headroom)
    with open_run_records() as records:
        yield CapacityPorts(
            history=lambda since: night_steps(
                records, since=since, now=datetime.now(UTC), hours=basis.hours, weights=weights
            ),
            store=PostgresCapacity(session),
            basis=basis,
            nights=settings.capacity_nights if nights is None else nights,
        )


def night_steps(
    records: RunRecords,
    *,
    since: datetime,
    now: datetime,
    hours: NightHours,
    weights: Mapping[str, int],
) -> Sequence[NightStep]:
    """The steps of nightly's runs that were created since, each with the slots of its shape.

    A step holds one slot unless `weights` says otherwise; one that has no end is at work until
    `now`, or ended with its run.
    """
    return tuple(
        NightStep(
            night=night_of(usage.start, hours),
            run_id=record.dagster_run.run_id,
            step=step,
            usage=usage,
        )
        for record in _nightly_runs(records, since)
        for step, usage in _usages(records, record, now, weights)
    )


def _nightly_runs(records: RunRecords, since: datetime) -> Iterator[RunRecord]:
    nightly = RunsFilter(tags={WORKLOAD_TAG: Workload.NIGHTLY.value}, created_after=since)
    cursor: str | None = None
    while True:
        page = records.runs.get_run_records(nightly, limit=PAGE, cursor=cursor, ascending=True)
        # A run that never left the queue has no start.
        yield from (record for record in page if record.start_time is not None)
        if len(page) < PAGE:
            return
        cursor = page[-1].dagster_run.run_id


def _usages(
    records: RunRecords, record: RunRecord, now: datetime, weights: Mapping[str, int]
) -> Iterator[tuple[str, Usage]]:
    run_end = now if record.end_time is None else _instant(record.end_time)
    steps = records.events.get_step_stats_for_run(record.dagster_run.run_id)
    begun = [
        (step.step_key, step.start_time, step.end_time)
        for step in steps
        if step.start_time is not None
    ]
    if not begun and record.start_time is not None:
        begun = [(WHOLE_RUN, record.start_time, record.end_time)]
    for shape, start, end in begun:
        yield shape, _usage(shape, start, run_end if end is None else _instant(end), weights)


def _usage(shape: str, seconds: float, end: datetime, weights: Mapping[str, int]) -> Usage:
    start = _instant(seconds)
    return Usage(shape=shape, start=start, end=max(start, end), slots=weights.get(shape, 1))


def _instant(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
