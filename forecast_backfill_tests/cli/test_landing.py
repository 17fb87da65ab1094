"""`forecast-backfill landing` as an operator meets it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path


def _landing(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    code = "from forecast_backfill.cli.main import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, "landing", *arguments],
        env=os.environ | {"FORECAST_BACKFILL_LANDING": str(directory)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_landing_says_what_it_landed_and_what_it_damaged(tmp_path: Path):
    done = _landing(
        tmp_path,
        "--days",
        "1",
        "--as-of",
        "2026-11-28",
        "--regions",
        "R01,R02,R03",
        "--damage",
        "1",
        "--json",
    )
    assert done.returncode == 0
    summary = json.loads(done.stdout)
    assert (summary["first_date"], summary["last_date"]) == ("2026-11-28", "2026-11-28")
    assert (summary["files"], summary["regions"]) == (3, 3)
    assert [each["found_as"] for each in summary["damaged"]] == ["gzip_truncated"]
    assert "landing deliveries: 3 of 3" in done.stderr


def test_more_days_than_there_are_end_with_code_one_and_no_stack_trace(tmp_path: Path):
    done = _landing(tmp_path, "--days", "400", "--as-of", "2026-11-28")
    assert done.returncode == 1
    assert "400 days cannot be landed" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_date_that_is_none_is_a_usage_error(tmp_path: Path):
    assert _landing(tmp_path, "--as-of", "yesterday").returncode == 2


def test_a_date_outside_any_calendar_is_refused_without_a_stack_trace(tmp_path: Path):
    done = _landing(tmp_path, "--days", "1", "--as-of", "0001-01-01")
    assert done.returncode == 1
    assert "nothing can be landed as of 0001-01-01" in done.stderr
    assert "Traceback" not in done.stderr
