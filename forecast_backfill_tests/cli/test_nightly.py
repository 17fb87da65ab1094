"""`forecast-backfill nightly`: one night by hand, and the nights that are refused."""

import json
from datetime import timedelta

import pytest
from click.testing import CliRunner

from forecast_backfill.app.seal_day import seal_day
from forecast_backfill.cli.nightly import command
from forecast_backfill.core.errors import UsageRefused
from forecast_backfill.core.states import Workload
from forecast_backfill_tests.app.nights import fetch, night
from forecast_backfill_tests.dagster.night_chain import (
    LAST,
    WINDOW_SETTINGS,
    backfill,
    chain_settings,
    days,
    land_chain_dimensions,
    land_days,
)


@pytest.fixture
def settings(database_url, tmp_path, monkeypatch):
    """A chain with a built and sealed history, whose latest date is landed."""
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
    land_days(found.landing_directory, days(10, 0))
    backfill(found, days(10, 1))
    with night(found, workload=Workload.BACKFILL) as wiring:
        for day in days(10, 1):
            seal_day(day, request=wiring.request(), ports=wiring.ports)
    return found


def run(*words):
    return CliRunner().invoke(command, words, standalone_mode=False)


def test_a_night_by_hand_is_published_as_nightly(settings):
    done = run("--date", str(LAST), "--json")
    assert done.return_value == 0, done.output
    told = json.loads(done.output)
    counts = {name: told[name] for name in ("regions", "window", "publication", "left_out")}
    assert counts == {
        "regions": {"written": 2},
        "window": "accepted",
        "publication": "fresh",
        "left_out": 0,
    }
    assert fetch(settings.database_url, "SELECT date, workload FROM forecast_publication") == [
        (LAST, "nightly")
    ]


def test_the_same_night_again_changes_nothing(settings):
    first = json.loads(run("--json").output)
    again = json.loads(run("--json").output)
    assert again["regions"] == {"unchanged": 2}
    assert again["model"] == first["model"]


def test_a_region_that_is_not_landed_counts_as_missing(settings):
    folder = settings.landing_directory / f"date={LAST}" / "region=R02"
    (folder / "manifest.json").unlink()
    done = run("--json")
    told = json.loads(done.output)
    assert (done.return_value, told["publication"]) == (0, "degraded")
    assert told["sealed"] == {"R01": "in", "R02": "missing"}


def test_a_night_whose_window_is_refused_exits_with_one_and_says_why(settings):
    for day in days(9, 0):
        folder = settings.landing_directory / f"date={day}" / "region=R02"
        (folder / "manifest.json").unlink()
    statement = "DELETE FROM partition_ledger WHERE region = 'R02' RETURNING 1"
    assert len(fetch(settings.database_url, statement)) == 10
    with night(settings, workload=Workload.BACKFILL) as wiring:
        for day in days(10, 1):
            seal_day(day, request=wiring.request(), ports=wiring.ports)
    done = run()
    assert done.return_value == 1
    assert "region R02 misses 8 of the last 8 days" in done.output
    assert f"no forecast of {LAST} was published" in done.output


def test_a_window_between_the_limits_waits_for_a_named_person(settings, monkeypatch):
    monkeypatch.setenv("FORECAST_BACKFILL_MAX_DEGRADED_PERCENT", "5")
    folder = settings.landing_directory / f"date={LAST}" / "region=R02"
    (folder / "manifest.json").unlink()
    assert run().return_value == 1
    taken = run("--override-by", "Ada", "--reason", "R02 was closed", "--json")
    told = json.loads(taken.output)
    assert (taken.return_value, told["publication"]) == (0, "degraded")
    statement = "SELECT override_by, override_reason FROM window_override"
    assert fetch(settings.database_url, statement) == [("Ada", "R02 was closed")]


def test_an_override_without_a_reason_is_a_usage_error(settings):
    done = run("--override-by", "Ada")
    assert "--override-by and --reason go together" in str(done.exception)


def test_a_date_of_history_is_refused_with_the_campaign_to_launch(settings):
    day = LAST - timedelta(days=3)
    done = run("--date", str(day))
    assert isinstance(done.exception, UsageRefused)
    assert done.exception.why == (
        f"backfill owns every date before {LAST}, and nightly never sealed {day}"
    )
    assert done.exception.next_command == f"forecast-backfill backfill --from {day} --to {LAST}"


def test_a_date_that_is_not_over_has_no_night(settings):
    done = run("--date", str(LAST + timedelta(days=1)))
    assert isinstance(done.exception, UsageRefused)
    assert done.exception.what == f"there is no night of {LAST + timedelta(days=1)}"


def test_what_is_done_is_written_again_where_that_is_asked_for(settings):
    counts = [
        json.loads(run("--date", str(LAST), "--json", *words).output)["regions"]
        for words in ((), (), ("--reprocess",))
    ]
    assert counts == [{"written": 2}, {"unchanged": 2}, {"written": 2}]


def test_a_region_that_was_not_written_says_why(settings):
    folder = settings.landing_directory / f"date={LAST}" / "region=R02"
    (folder / "manifest.json").write_text("{")
    done = run()
    assert "1 quarantined, 1 written" in done.output
    assert "R02: manifest.json manifest_unreadable" in done.output
