"""What nightly's steps held, as Dagster's run records have it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from datetime import time as Time

import pytest
from dagster import DagsterInstance, job, op

from forecast_backfill.core.night_state import NightHours
from forecast_backfill.dagster_defs.night_records import (
    RunRecords,
    night_steps,
    open_run_records,
)
from forecast_backfill.dagster_defs.tags import WORKLOAD_TAG

HOURS = NightHours(nightly_time=Time(3, 30), cut_off_time=Time(5), zone=UTC)
NIGHTLY = {WORKLOAD_TAG: "nightly"}


@op
def regions():
    pass


@op
def demand_model(context):
    context.log.info("fits")


@op
def breaks():
    raise ValueError("broken")


@job
def night():
    regions()
    demand_model()


@job
def broken_night():
    breaks()


@pytest.fixture
def instance():
    with DagsterInstance.ephemeral() as opened:
        yield opened


def steps_of(instance, **changes):
    records = RunRecords(runs=instance.run_storage, events=instance.event_log_storage)
    now = datetime.now(UTC)
    fields = {"since": now - timedelta(days=1), "now": now, "weights": {"demand_model": 3}}
    return night_steps(records, hours=HOURS, **{**fields, **changes})


def test_each_step_of_a_nightly_run_holds_the_slots_of_its_shape(instance):
    run = night.execute_in_process(instance=instance, tags=NIGHTLY)
    found = steps_of(instance)
    assert [
        (each.step, each.usage.slots) for each in sorted(found, key=lambda each: each.step)
    ] == [
        ("demand_model", 3),
        ("regions", 1),
    ]
    assert {each.run_id for each in found} == {run.run_id}
    assert all(each.usage.end >= each.usage.start for each in found)


def test_a_run_of_backfill_does_not_count(instance):
    night.execute_in_process(instance=instance, tags={WORKLOAD_TAG: "backfill"})
    night.execute_in_process(instance=instance)
    assert steps_of(instance) == ()


def test_a_step_that_failed_held_its_slot_too(instance):
    broken_night.execute_in_process(instance=instance, tags=NIGHTLY, raise_on_error=False)
    assert [each.step for each in steps_of(instance)] == ["breaks"]


def test_a_run_that_was_created_before_is_not_read(instance):
    night.execute_in_process(instance=instance, tags=NIGHTLY)
    assert steps_of(instance, since=datetime.now(UTC) + timedelta(minutes=1)) == ()


def test_a_run_that_never_left_the_queue_holds_nothing(instance):
    instance.create_run_for_job(night, tags=NIGHTLY)
    assert steps_of(instance) == ()


def test_more_runs_than_a_page_are_all_read(instance, monkeypatch):
    monkeypatch.setattr("forecast_backfill.dagster_defs.night_records.PAGE", 2)
    runs = {
        broken_night.execute_in_process(
            instance=instance, tags=NIGHTLY, raise_on_error=False
        ).run_id
        for _ in range(5)
    }
    assert {each.run_id for each in steps_of(instance)} == runs


def test_the_records_are_read_with_and_without_a_dagster_home(site, monkeypatch):
    with DagsterInstance.get() as instance:
        run = night.execute_in_process(instance=instance, tags=NIGHTLY)
    for has_home in (True, False):
        if not has_home:
            monkeypatch.delenv("DAGSTER_HOME")
        now = datetime.now(UTC)
        with open_run_records() as records:
            found = night_steps(
                records, since=now - timedelta(hours=1), now=now, hours=HOURS, weights={}
            )
        assert [each.run_id for each in found] == [run.run_id] * 2
