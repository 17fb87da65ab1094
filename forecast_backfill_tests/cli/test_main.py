"""The command line's manners: help, exit codes, and errors without a stack trace."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import forecast_backfill
from forecast_backfill.cli.main import VERBS, cli
from forecast_backfill.settings import PREFIX, Settings

CHECKOUT = Path(forecast_backfill.__file__).parents[1]
README = (CHECKOUT / "README.md").read_text()
SETTINGS = (CHECKOUT / "docs" / "settings.md").read_text()


def run(*words, **environment):
    return subprocess.run(
        [sys.executable, "-m", "forecast_backfill.cli", *words],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize("verb", list(VERBS))
def test_every_verb_has_help_and_stands_in_the_readme(verb):
    shown = CliRunner().invoke(cli, [verb, "--help"], prog_name="forecast-backfill")
    assert shown.exit_code == 0
    assert shown.output.startswith(f"Usage: forecast-backfill {verb}")
    assert re.search(rf"^\| .*`{verb}[ `]", README, re.MULTILINE)


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "quarantine"])
def test_every_verb_takes_json(verb):
    assert "--json" in CliRunner().invoke(cli, [verb, "--help"]).output


@pytest.mark.parametrize("name", list(Settings.model_fields))
def test_every_setting_has_its_line(name):
    assert f"`{PREFIX}{name.upper()}`" in SETTINGS


def test_an_unknown_verb_is_a_usage_error():
    shown = run("rebuild")
    assert shown.returncode == 2
    assert "No such command 'rebuild'" in shown.stderr


@pytest.mark.parametrize(
    ("setting", "value", "told"),
    [
        ("BATCH_SIZE", "0", "FORECAST_BACKFILL_BATCH_SIZE='0'"),
        ("FIRST_DATE", "2999-01-01", "FORECAST_BACKFILL_FIRST_DATE=2999-01-01"),
        ("REGIONS", "R01,R01", "FORECAST_BACKFILL_REGIONS="),
        ("TIME_ZONE", "Mars/Olympus", "FORECAST_BACKFILL_TIME_ZONE='Mars/Olympus'"),
        ("NIGHTLY_PEAK", "9", "FORECAST_BACKFILL_NIGHTLY_PEAK"),
        ("LOCK_TIMEOUT_SECONDS", "inf", "FORECAST_BACKFILL_LOCK_TIMEOUT_SECONDS='inf'"),
        ("STATEMENT_TIMEOUT_SECONDS", "1e9", "FORECAST_BACKFILL_STATEMENT_TIMEOUT_SECONDS='1e9'"),
        ("SLOTS", "99999999999", "FORECAST_BACKFILL_SLOTS='99999999999'"),
        ("DAGSTER_URL", "localhost:3000", "FORECAST_BACKFILL_DAGSTER_URL='localhost:3000'"),
        ("DAGSTER_URL", "http://localhost:x", "FORECAST_BACKFILL_DAGSTER_URL="),
    ],
)
def test_a_wrong_setting_is_named_with_its_value_and_the_remedy(setting, value, told):
    words = ("backfill", "--from", "2026-03-01", "--to", "2026-03-02")
    shown = run(*words, **{PREFIX + setting: value})
    assert shown.returncode == 1
    assert told in shown.stderr
    assert f"next: export {PREFIX}{setting}=" in shown.stderr
    assert "Traceback" not in shown.stderr


def test_an_unreachable_database_is_told_in_words():
    url = "postgresql://nobody:secret@127.0.0.1:1/none"
    shown = run("status", FORECAST_BACKFILL_DATABASE_URL=url)
    assert shown.returncode == 1
    assert "FORECAST_BACKFILL_DATABASE_URL" in shown.stderr
    assert "secret" not in shown.stderr
    assert "Traceback" not in shown.stderr


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("2026-03-02", "2026-03-02"),
        ("2026-03-05", "2026-03-02"),
        ("9999-12-31", "9999-12-31"),
    ],
)
def test_an_empty_or_inverted_range_is_refused(start, end):
    shown = run("backfill", "--from", start, "--to", end, "--json")
    assert shown.returncode == 1
    told = json.loads(shown.stdout)
    assert told["what"] == f"the range from {start} to {end} holds no date"


def test_an_unknown_region_is_refused():
    shown = run("backfill", "--from", "2026-03-01", "--to", "2026-03-02", "--regions", "R99")
    assert shown.returncode == 1
    assert "unknown region 'R99'" in shown.stderr
