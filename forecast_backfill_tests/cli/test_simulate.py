"""`forecast-backfill simulate`: given or recorded nights, a table or JSON, and a plot."""

import json

import pytest
from click.testing import CliRunner

from forecast_backfill.cli.simulate import command
from forecast_backfill.core.errors import UsageRefused
from forecast_backfill.core.states import Workload
from forecast_backfill.settings import load_settings
from forecast_backfill.warehouse.capacity import PostgresCapacity
from forecast_backfill.wiring.partition import open_session
from forecast_backfill_tests.postgres.test_capacity import THREE_NIGHTS

GIVEN = (
    "--night", "regions:200x3m,fit:1x20m@150", "--tasks", "3600", "--task-minutes", "3",
    "--slots", "300",
)  # fmt: skip


def run(*words):
    return CliRunner().invoke(command, words, standalone_mode=False)


def test_everything_given_needs_no_database(tmp_path, monkeypatch):
    monkeypatch.setenv("FORECAST_BACKFILL_DATABASE_URL", "postgresql://nobody.invalid/none")
    done = run(*GIVEN, "--plot", str(tmp_path / "policies.svg"), "--json")
    assert done.exception is None
    told = json.loads(done.output)
    by_peak = told["policies"]["cap from peak"]
    assert (by_peak["cap"], by_peak["campaign_seconds"]) == (100, 108 * 60)
    assert by_peak["fit_delay_seconds"] == 0
    assert told["plot"] == str(tmp_path / "policies.svg")
    assert (tmp_path / "policies.svg").read_text().startswith("<svg")


def test_the_table_has_a_line_a_policy():
    shown = run(*GIVEN).output.splitlines()
    assert shown[0] == (
        "3600 tasks of 3.0 min (p95 3.0) on 300 slots, launched 1:00:00 before the night"
    )
    assert [line[:18].strip() for line in shown[2:]] == [
        "no cap", "priority only", "cap from idle", "cap from peak", "night reservation",
    ]  # fmt: skip


@pytest.fixture
def settings(database_url, tmp_path, monkeypatch):
    monkeypatch.setenv("FORECAST_BACKFILL_DATABASE_URL", database_url)
    monkeypatch.setenv("FORECAST_BACKFILL_HOME", str(tmp_path))
    monkeypatch.setenv("FORECAST_BACKFILL_SLOTS", "10")
    return load_settings()


def test_recorded_nights_are_replayed(settings):
    with open_session(settings, Workload.BACKFILL) as session:
        PostgresCapacity(session).keep(THREE_NIGHTS)
    done = run("--task-minutes", "3", "--tasks", "40", "--json")
    assert done.exception is None
    assert json.loads(done.output)["policies"]["cap from peak"]["cap"] == 5


def test_without_a_night_on_record_one_has_to_be_given(settings):
    refused = run("--task-minutes", "3").exception
    assert isinstance(refused, UsageRefused)
    assert refused.what == "no night is on record"


def test_without_a_duration_on_record_one_has_to_be_given(settings):
    refused = run("--night", "fit:1x3m").exception
    assert isinstance(refused, UsageRefused)
    assert refused.next_command == "forecast-backfill simulate --task-minutes 3"


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--fit", "seal"), "no night has a stage 'seal'"),
        (("--task-p95-minutes", "2"), "a p95 of 2 min below the average of 3 min"),
    ],
)
def test_options_that_contradict_each_other_are_refused(words, what):
    refused = run(*GIVEN, *words).exception
    assert isinstance(refused, UsageRefused)
    assert refused.what == what
