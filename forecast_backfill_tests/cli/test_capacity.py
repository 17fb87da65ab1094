"""`forecast-backfill capacity`: what it prints, and what --apply puts in force."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner

from forecast_backfill.cli.cap import command as cap
from forecast_backfill.cli.capacity import command
from forecast_backfill.core.peak import NightStep, Usage
from forecast_backfill.core.states import Workload
from forecast_backfill.settings import load_settings
from forecast_backfill.warehouse.capacity import PostgresCapacity
from forecast_backfill.wiring.partition import open_session


@pytest.fixture
def settings(database_url, tmp_path, monkeypatch):
    """Ten slots, a configured peak of four, and nobody's DAGSTER_HOME."""
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    fields = {"home": tmp_path, "database_url": database_url, "slots": 10, "nightly_peak": 4}
    for name, value in fields.items():
        monkeypatch.setenv(f"FORECAST_BACKFILL_{name.upper()}", str(value))
    return load_settings()


def run(*words):
    done = CliRunner().invoke(command, words, standalone_mode=False)
    assert done.exception is None, done.exception
    return done.output


def record_nights(settings, nights):
    """So many nights before today, each with two steps at the same time of together 5 slots."""
    with open_session(settings, Workload.BACKFILL) as session:
        for number in range(1, nights + 1):
            begin = datetime.now(UTC).replace(hour=9) - timedelta(days=number)
            PostgresCapacity(session).keep(
                [
                    NightStep(
                        night=begin.date(),
                        run_id=f"{number}",
                        step=shape,
                        usage=Usage(
                            shape=shape, start=begin, end=begin + timedelta(minutes=9), slots=slots
                        ),
                    )
                    for shape, slots in (("daily_demand", 2), ("demand_model", 3))
                ]
            )


def stored(settings):
    with open_session(settings, Workload.BACKFILL) as session:
        return PostgresCapacity(session).latest()


def test_without_nights_it_says_so_and_takes_the_configured_peak(settings):
    told = json.loads(run("--json"))
    assert (told["peak"], told["cap"], told["source"], told["applied"]) == (4, 6, "setting", False)
    assert told["reason"] == ("0 nights on record, fewer than 3: the configured peak of 4 is used")
    assert stored(settings) is None


def test_peak_shapes_and_cap_are_printed(settings):
    record_nights(settings, 3)
    shown = run("--headroom", "1")
    assert "peak      5 slots" in shown
    assert "the most that nightly held at once in 3 nights" in shown
    assert "daily_demand          2 by itself, 2 at the peak" in shown
    assert "cap       4 = 10 slots - 5 - 1" in shown
    assert "next: forecast-backfill capacity --apply" in shown


def test_only_so_many_nights_as_asked_for_are_measured(settings):
    record_nights(settings, 5)
    assert json.loads(run("--nights", "4", "--json"))["nights"] == 4


def test_apply_puts_the_measure_in_force(settings):
    record_nights(settings, 3)
    assert "applied: in force wherever the cap is automatic" in run("--apply")
    measured, _ = stored(settings)
    assert (measured.peak, measured.cap) == (5, 5)


def test_an_automatic_cap_is_measured_anew(settings):
    record_nights(settings, 3)
    words = ("auto", "--reason", "the deploy is over", "--json")
    done = CliRunner().invoke(cap, words, standalone_mode=False)
    assert done.exception is None, done.exception
    assert json.loads(done.output)["cap_in_force"] == 5
    assert stored(settings)[0].peak == 5


def test_a_cap_that_is_set_measures_nothing(settings):
    done = CliRunner().invoke(cap, ("3", "--reason", "a sale"), standalone_mode=False)
    assert done.exception is None, done.exception
    assert stored(settings) is None
