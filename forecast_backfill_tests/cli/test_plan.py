"""`forecast-backfill plan`: a real ledger, real files and real locks under the preflight."""

import json
from datetime import date, timedelta

import click
import psycopg
import pytest
from click.testing import CliRunner

from forecast_backfill.cli.plan import command
from forecast_backfill.core.errors import UsageRefused
from forecast_backfill_tests.dagster.night_chain import (
    LAST,
    WINDOW_SETTINGS,
    backfill,
    chain_settings,
    days,
    land_chain_dimensions,
    land_days,
)

FIRST = LAST - timedelta(days=8)


@pytest.fixture
def settings(database_url, tmp_path, monkeypatch):
    """Eight landed days of two regions before the seam, of which the first two are built."""
    fields = {
        "home": tmp_path,
        "database_url": database_url,
        "regions": "R01,R02",
        "first_date": LAST - timedelta(days=30),
        "as_of": LAST,
        **WINDOW_SETTINGS,
    }
    for name, value in fields.items():
        monkeypatch.setenv(f"FORECAST_BACKFILL_{name.upper()}", str(value))
    found = chain_settings(database_url, tmp_path)
    land_chain_dimensions(found.landing_directory)
    land_days(found.landing_directory, days(8, 1))
    return found


def run(*words):
    ends = ("--from", str(FIRST), "--to", str(LAST)) if "--from" not in words else ()
    return CliRunner().invoke(command, [*ends, *words], standalone_mode=False)


def told(*words):
    done = run(*words, "--json")
    assert done.exception is None, done.exception
    return json.loads(done.output)


def line(fields, name):
    (found,) = [each for each in fields["preflight"] if each["name"] == name]
    return found


def test_ninety_days_of_forty_regions_beside_a_peak_of_200_take_108_minutes(settings, monkeypatch):
    regions = ",".join(f"R{number:02d}" for number in range(1, 41))
    monkeypatch.setenv("FORECAST_BACKFILL_REGIONS", regions)
    monkeypatch.setenv("FORECAST_BACKFILL_FIRST_DATE", str(LAST - timedelta(days=90)))
    ends = ("--from", str(LAST - timedelta(days=90)), "--to", str(LAST))
    supposed = ("--slots", "300", "--peak", "200", "--task-minutes", "3")
    found = told(*ends, *supposed)
    sizing = found["sizing"]
    assert (found["tasks"], sizing["work_seconds"] / 60, found["cap"]) == (3600, 10_800, 100)
    assert sizing["shortest_seconds"] == sizing["longest_seconds"] == 108 * 60
    assert not sizing["split"]
    assert "wall clock  1:48:00 to 1:48:00, 36 waves" in run(*ends, *supposed).output


def test_what_is_done_is_not_counted_and_durations_are_those_of_the_ledger(settings):
    backfill(settings, days(8, 7))
    found = told()
    assert (found["partitions"], found["done"], found["tasks"]) == (16, 4, 12)
    assert 0 < found["average_seconds"] <= found["p95_seconds"]
    assert found["sizing"]["waves"] == 6


def test_without_a_duration_the_plan_asks_for_one(settings):
    shown = run().output
    assert "a task      no partition's duration is on record: give --task-minutes" in shown
    assert "wall clock" not in shown


def test_a_range_that_may_be_launched_ends_with_0(settings):
    done = run("--task-minutes", "3")
    assert done.return_value == 0, done.output
    assert "pass  seam           all dates lie before the seam 2026-11-27" in done.output
    assert "pass  sources        all 16 are landed with their manifests" in done.output
    assert "pass  signals" in done.output


def test_a_range_that_reaches_the_seam_ends_with_1_and_the_next_command(settings):
    done = run("--from", str(FIRST), "--to", str(LAST + timedelta(days=1)))
    assert done.return_value == 1
    assert f"STOP  seam           nightly owns {LAST} and every later date" in done.output
    assert f"next: forecast-backfill plan … --to {LAST} (the end is exclusive)" in done.output


def test_a_missing_manifest_is_named(settings):
    folder = settings.landing_directory / f"date={FIRST}" / "region=R02"
    (folder / "manifest.json").unlink()
    found = line(told(), "sources")
    assert (found["standing"], found["told"]) == (
        "look",
        f"1 of 16 have no manifest and would be quarantined: {FIRST} R02",
    )


def test_tonights_window_is_judged_as_the_campaign_will_leave_it(settings):
    assert line(told(), "contract")["told"] == "windows over the range that will be taken: all 1"
    for day in days(5, 1):
        (settings.landing_directory / f"date={day}" / "region=R02" / "manifest.json").unlink()
    found = line(told(), "contract")
    assert found["standing"] == "look"
    assert "1 of 1 windows will not be fitted: 2026-11-27: 5 of 16 partitions" in found["told"]
    assert "region R02 misses 5 of the last 8 days, more than 3" in found["told"]


def test_a_foreign_lock_on_the_target_speaks_against_a_launch(settings):
    with psycopg.connect(settings.database_url, application_name="a report") as other:
        other.execute("LOCK TABLE forecast_backfill.daily_demand IN SHARE MODE")
        done = run("--json")
        found = line(json.loads(done.output), "locks")
        assert done.return_value == 1
        assert "(a report, pid" in found["told"]
        assert "holds ShareLock since" in found["told"]
        assert f"pg_terminate_backend({other.info.backend_pid})" in found["next_command"]
    assert line(told(), "locks")["standing"] == "pass"


def test_a_reader_of_the_target_is_no_foreign_lock(settings):
    with psycopg.connect(settings.database_url, application_name="a report") as other:
        other.execute("SELECT count(*) FROM forecast_backfill.daily_demand")
        assert line(told(), "locks")["standing"] == "pass"


def test_kept_rows_are_estimated_from_what_partitions_take(settings):
    backfill(settings, days(8, 7))
    found = line(told(), "rollback room")
    assert found["standing"] == "pass"
    assert found["told"].startswith("up to ")
    assert not found["told"].startswith("up to 0 bytes")


def test_a_peak_that_was_never_measured_names_the_verb_that_does(settings):
    assert line(told(), "capacity")["next_command"] == "forecast-backfill capacity --apply"


def test_a_cap_that_was_set_by_hand_counts_unless_another_machine_is_supposed(settings):
    with psycopg.connect(settings.database_url, autocommit=True) as connection:
        connection.execute(
            "UPDATE forecast_backfill.workload_control SET cap = 1 WHERE workload = 'backfill'"
        )
    assert told()["cap"] == 1
    assert told("--peak", "1")["cap"] == 3


def test_a_machine_on_which_nothing_can_run_ends_with_1(settings):
    done = run("--slots", "1", "--peak", "5", "--task-minutes", "3")
    assert done.return_value == 1
    assert (
        "STOP  slots          0 of 1 for backfill, nightly needs the others: nothing would ever run"
    ) in done.output
    assert "next: export FORECAST_BACKFILL_SLOTS=… with more" in done.output


def test_hours_that_close_backfill_split_a_campaign(settings, monkeypatch):
    monkeypatch.setenv("FORECAST_BACKFILL_BACKFILL_HOURS", "20:00-21:00")
    found = told("--task-minutes", "30")
    # 16 tasks of half an hour in 2 slots need four evenings of an hour.
    assert found["sizing"]["split"]
    assert sum(part["tasks"] for part in found["sizing"]["parts"]) == 16
    assert found["sizing"]["advice"].startswith("split it: ")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (
            ("--from", "2026-11-20", "--to", "2026-11-20"),
            "the range from 2026-11-20 to 2026-11-20 cannot be planned",
        ),
        (("--regions", "R09"), "unknown region 'R09'"),
    ],
)
def test_what_cannot_be_meant_is_refused(settings, words, what):
    refused = run(*words).exception
    assert isinstance(refused, UsageRefused)
    assert refused.what == what


@pytest.mark.parametrize(
    "words",
    [("--task-minutes", "1e308"), ("--task-minutes", "nan"), ("--slots", "9" * 20)],
)
def test_a_number_that_nothing_can_be_sized_with_is_a_wrong_usage(settings, words):
    assert isinstance(run(*words).exception, click.BadParameter)


def test_dates_before_the_first_one_stop(settings):
    found = told("--from", "2026-09-01", "--to", str(date(2026, 9, 3)))
    assert line(found, "seam")["standing"] == "stop"
    assert not found["may_launch"]
