"""`export` at the command line: what it says, and its exit codes."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from forecast_backfill.cli.export import command
from forecast_backfill.core.errors import UsageRefused
from forecast_backfill_tests.app.exports import (
    TWO,
    contents,
    exported_settings,
    manifest_of,
    refuse_source,
)

RANGE = ("--from", "2026-11-02", "--to", "2026-11-04")


@pytest.fixture
def settings(database_url, tmp_path, monkeypatch):
    settings = exported_settings(database_url, tmp_path / "home")
    for name in ("home", "database_url", "first_date", "as_of", "seam", "backfill_nice"):
        monkeypatch.setenv(f"FORECAST_BACKFILL_{name.upper()}", str(getattr(settings, name)))
    monkeypatch.setenv("FORECAST_BACKFILL_REGIONS", "R01,R02")
    return settings


def run(folder, *words):
    done = CliRunner().invoke(command, [str(folder), *words], standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done


def test_an_export_says_what_it_wrote_and_then_what_it_left_as_it_is(settings, tmp_path):
    folder = tmp_path / "export"
    done = run(folder, *RANGE)
    assert (done.return_value, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{folder}: 4 partitions written, 0 unchanged · 8 rows · as of 2")
    assert done.stdout.endswith(" UTC · complete\n")
    told = json.loads(run(folder, *RANGE, "--json").stdout)
    assert told.pop("as_of") == manifest_of(folder)["as_of"]
    assert told == {
        "folder": str(folder),
        "state": "complete",
        "written": 0,
        "unchanged": 4,
        "removed": 0,
        "rows": 8,
        "left_out": [],
    }


def test_what_is_left_out_is_named_and_the_exit_code_is_1(settings, tmp_path):
    folder = tmp_path / "export"
    run(folder, *RANGE)
    refuse_source(settings, TWO)
    told = run(folder, *RANGE, "--json")
    (left_out,) = json.loads(told.stdout)["left_out"]
    assert (told.return_value, left_out["date"], left_out["region"]) == (1, "2026-11-02", "R02")
    assert left_out["removed"]
    done = run(folder, *RANGE)
    assert done.return_value == 1
    assert "2026-11-02 R02  stale, its source is quarantined: sales.csv.gz:" in done.stderr


def test_dates_and_regions_choose_what_is_exported(settings, tmp_path):
    folder = tmp_path / "export"
    assert run(folder, *RANGE, "--regions", "R02").return_value == 0
    assert sorted(contents(folder)) == [
        "date=2026-11-02/region=R02/daily_demand.parquet",
        "date=2026-11-03/region=R02/daily_demand.parquet",
    ]


def test_without_a_range_every_date_is_asked_for_and_what_was_never_built_is_named(
    settings, tmp_path
):
    done = run(tmp_path / "export")
    assert done.return_value == 1
    assert "78 were left out:\n  2026-11-04 R01  it was never built\n" in done.stderr
    assert done.stderr.endswith("  … and 58 more (--json names all)\n")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--from", "2026-11-03", "--to", "2026-11-03"), "holds no date"),
        (("--from", "0001-01-01", "--to", "9999-12-31"), "is too long"),
        (("--regions", "R77"), "unknown region 'R77'"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_a_folder_is_made(settings, tmp_path, words, told):
    with pytest.raises(UsageRefused, match=told):
        run(tmp_path / "export", *words)
    assert not (tmp_path / "export").exists()


@pytest.mark.parametrize("place", ["landing", "lakehouse/export", "postgres", "."])
def test_the_folders_of_the_installation_take_no_export(settings, place):
    with pytest.raises(UsageRefused, match="cannot take an export"):
        run(settings.home / place, *RANGE)
