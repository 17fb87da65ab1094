"""Recorded nights and measured caps in PostgreSQL, and the outlook that follows."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import psycopg
import pytest

from forecast_backfill.core.capacity_measure import measure_capacity
from forecast_backfill.core.hold import holds_at, next_hold_start
from forecast_backfill.core.peak import NightStep, Usage
from forecast_backfill.core.states import Workload
from forecast_backfill.settings import Settings
from forecast_backfill.settings.capacity import Reservation
from forecast_backfill.warehouse.capacity import PostgresCapacity
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.outlook import PostgresOutlook, capacity_basis

FIRST = date(2026, 11, 2)
BEGIN = datetime(2026, 11, 2, 8, 30, tzinfo=UTC)
SETTINGS = Settings(slots=10, nightly_peak=4, headroom=1)


@pytest.fixture
def session(database):
    opened = Session(database, Workload.BACKFILL, SETTINGS)
    yield opened
    opened.close()


def step(night, start, end, slots, run="r", shape="daily_demand"):
    begin = BEGIN + timedelta(days=night)
    usage = Usage(
        shape=shape,
        start=begin + timedelta(minutes=start),
        end=begin + timedelta(minutes=end),
        slots=slots,
    )
    day = FIRST + timedelta(days=night)
    return NightStep(night=day, run_id=f"{run}{night}", step=shape, usage=usage)


THREE_NIGHTS = [
    *(step(night, 0, 30, 2) for night in range(3)),
    step(2, 10, 40, 3, "s", "demand_model"),
]


def test_recorded_steps_come_back_by_night(session):
    capacity = PostgresCapacity(session)
    capacity.keep(THREE_NIGHTS)
    assert capacity.last_nights(5, before=FIRST + timedelta(days=9)) == tuple(THREE_NIGHTS)


def test_only_the_last_nights_on_record_are_read(session):
    capacity = PostgresCapacity(session)
    capacity.keep(THREE_NIGHTS)
    found = capacity.last_nights(1, before=FIRST + timedelta(days=9))
    assert {each.night for each in found} == {FIRST + timedelta(days=2)}


def test_a_step_that_was_at_work_is_corrected_once_it_has_ended(session):
    capacity = PostgresCapacity(session)
    capacity.keep([step(0, 0, 5, 2)])
    capacity.keep([step(0, 0, 30, 2)])
    assert capacity.last_nights(5, before=FIRST + timedelta(days=1)) == (step(0, 0, 30, 2),)


def test_the_last_stored_measure_is_the_one_in_force(session):
    capacity = PostgresCapacity(session)
    first = measure_capacity((), capacity_basis(SETTINGS))
    second = measure_capacity(THREE_NIGHTS, capacity_basis(SETTINGS))
    assert capacity.latest() is None
    capacity.store(first, by="Ada")
    measured_at = capacity.store(second, by="Ada")
    assert capacity.latest() == (second, measured_at)
    assert (second.peak, second.cap) == (5, 4)


def store(session):
    measure = measure_capacity(THREE_NIGHTS, capacity_basis(SETTINGS))
    PostgresCapacity(session).store(measure, by="Ada")


def outlook(session, now, **changes):
    settings = Settings(**{"slots": 10, "nightly_peak": 4, "headroom": 1, **changes})
    return PostgresOutlook(session, settings)(now)


EVENING = BEGIN + timedelta(days=9, hours=13)


def test_without_a_measure_the_configured_peak_is_reserved_at_all_hours(session):
    assert outlook(session, EVENING, reservation=Reservation.NIGHT).peak == 5


def test_a_measured_peak_and_the_headroom_are_reserved_at_all_hours(session):
    store(session)
    assert outlook(session, EVENING).peak == 6


def test_by_night_the_headroom_is_reserved_in_the_evening_and_the_peak_from_the_lead_on(session):
    store(session)
    found = outlook(session, EVENING, reservation=Reservation.NIGHT, hold_lead_minutes=20)
    begin = BEGIN + timedelta(days=10)
    assert (found.peak, holds_at(EVENING, found.holds)) == (1, 0)
    assert next_hold_start(EVENING, found.holds) == begin - timedelta(minutes=20)
    assert holds_at(begin, found.holds) == 6
    assert holds_at(begin + timedelta(minutes=35), found.holds) == 4
    assert holds_at(begin + timedelta(minutes=40), found.holds) == 0


def test_a_night_that_is_not_published_is_held_for_and_one_that_is_frees_its_slots(
    session, database
):
    store(session)
    now = BEGIN + timedelta(days=9, hours=1)
    held = outlook(session, now, reservation=Reservation.NIGHT)
    assert holds_at(now, held.holds) == 6
    with psycopg.connect(database, options="-c search_path=forecast_backfill") as connection:
        connection.execute(
            "INSERT INTO forecast_publication (date, status, model_version, reasons, absent,"
            " data_version, first_published_at, switched_at, workload, run_id)"
            " VALUES (%s, 'fresh', 'm', '{}', '{}', 'v', now(), now(), 'nightly', 'r')",
            [FIRST + timedelta(days=8)],
        )
    freed = outlook(session, now, reservation=Reservation.NIGHT)
    assert holds_at(now, freed.holds) == 0


def test_outside_of_the_hours_of_the_calendar_every_slot_is_held(session):
    found = outlook(session, EVENING, backfill_hours="20:00-06:00")
    assert holds_at(EVENING, found.holds) == 10


def test_an_outlook_is_read_again_after_two_seconds(session):
    look = PostgresOutlook(session, SETTINGS)
    assert look(EVENING).peak == 5
    store(session)
    assert look(EVENING + timedelta(seconds=1)).peak == 5
    assert look(EVENING + timedelta(seconds=2)).peak == 6


def test_durations_are_those_of_the_partitions_that_were_written(session, database):
    assert PostgresCapacity(session).task_history() is None
    with psycopg.connect(database, options="-c search_path=forecast_backfill") as connection:
        for seconds in range(1, 101):
            connection.execute(
                "INSERT INTO partition_event (date, region, kind, workload, run_id, seconds)"
                " VALUES ('2026-11-01', 'R01', 'written', 'backfill', 'r', %s)",
                [seconds],
            )
    found = PostgresCapacity(session).task_history()
    assert (found.tasks, found.average) == (100, 50.5)
    assert found.p95 == pytest.approx(95.05)
    assert found.quantiles[0] == pytest.approx(3.475)
    assert len(found.quantiles) == 20
    assert replace(found, p95=1.0).task_seconds.p95 == 50.5
    assert outlook(session, EVENING).partition_seconds == pytest.approx(95.05)
