"""`plan`: in place or in a shadow by three answers, and the risks with their evidence."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner

from forecast_backfill.cli import questions
from forecast_backfill.cli.plan import command
from forecast_backfill.core.in_place import Answers
from forecast_backfill.wiring.partition import load_engine
from forecast_backfill_tests.app.campaigns import FIRST, settings_for
from forecast_backfill_tests.landing.hand_made import land_dimensions

RANGE = ("--from", str(FIRST), "--to", str(FIRST + timedelta(days=1)))


@pytest.fixture
def url(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    fields = {
        "DATABASE_URL": database_url, "HOME": tmp_path, "REGIONS": "R01,R02", "FIRST_DATE": FIRST,
        "AS_OF": FIRST + timedelta(days=40), "SEAM": FIRST + timedelta(days=40),
    }  # fmt: skip
    for name, value in fields.items():
        monkeypatch.setenv(f"FORECAST_BACKFILL_{name}", str(value))
    land_dimensions(tmp_path / "landing", products=[], stores=[])
    return database_url


def told(*words: str) -> dict:
    done = CliRunner().invoke(command, [*RANGE, *words, "--json"], standalone_mode=False)
    assert done.exception is None, done.exception
    return dict(json.loads(done.stdout))


def risks(fields: dict) -> dict[str, tuple[bool, str]]:
    return {each["risk"]: (each["in_force"], each["evidence"]) for each in fields["risks"]}


def test_the_flags_give_the_answer_with_its_reason(url: str) -> None:
    small = ("--no-consumers-tolerate-partial", "--no-destructive", "--small")
    assert told(*small)["approach"]["answer"] == "in_place"
    found = told("--consumers-tolerate-partial", "--destructive", "--no-small")["approach"]
    assert found["answer"] == "shadow"
    assert found["reason"].startswith("it is destructive: the live table stays as it is")
    assert "shadow start" in found["next_command"]


def test_without_an_answer_the_flags_are_named_and_nothing_is_asked(url: str) -> None:
    done = CliRunner().invoke(command, list(RANGE), standalone_mode=False)
    assert "in place or shadow? answer --consumers-tolerate-partial, " in done.stdout
    assert told()["approach"] is None


def test_at_a_terminal_the_questions_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def confirm(question: str, **_: object) -> bool:
        asked.append(question)
        return len(asked) == 1

    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr(questions.click, "confirm", confirm)
    none = {"tolerates_partial": None, "is_destructive": None, "is_small": None}
    assert questions.answers_of(**none, may_ask=True) == Answers(
        tolerates_partial=True, is_destructive=False, is_small=False
    )
    assert len(asked) == 3
    assert not questions.answers_of(**none, may_ask=False).is_asked


def test_the_matrix_reads_the_live_system(url: str, tmp_path: Path) -> None:
    found = risks(told())
    assert found["contention"] == (True, "cap 2 of 4 slots now; pace full")
    assert found["clobber"] == (
        True,
        f"seam {FIRST + timedelta(days=40)}; 0 partitions merged so far, every row and claim with "
        "its version",
    )
    assert found["race"] == (True, "lease and constraints hold, epoch 1")
    assert found["non-determinism"][0] is False
    version = load_engine(settings_for(url, tmp_path)).code_version
    assert found["non-determinism"][1].startswith(f"code {version[:12]}; never proved")


def test_a_fence_that_was_taken_away_is_an_open_risk(url: str) -> None:
    with psycopg.connect(url, options="-c search_path=forecast_backfill") as connection:
        connection.execute(
            "ALTER TABLE daily_demand DROP CONSTRAINT daily_demand_is_unique_by_grain"
        )
        connection.execute(
            "ALTER TABLE partition_event DISABLE TRIGGER partition_event_is_append_only"
        )
    assert risks(told())["race"] == (
        False,
        "not there or not valid: daily_demand_is_unique_by_grain, partition_event_is_append_only",
    )


def test_proofs_of_the_present_code_are_counted(url: str, tmp_path: Path) -> None:
    version = load_engine(settings_for(url, tmp_path)).code_version
    with psycopg.connect(url, options="-c search_path=forecast_backfill") as connection:
        for region, code in (("R01", version), ("R02", "an older one")):
            connection.execute(
                "INSERT INTO partition_ledger (date, region, status, output, attempt, workload, "
                "run_id, epoch, started_at, finished_at, output_source_digest, "
                "output_code_version, output_dimension_version, output_rows, output_checksum, "
                "output_units, output_revenue_cents, output_stores, output_products, "
                "output_data_version, output_authority, output_source_version, "
                "output_written_at, output_lines, output_exclusions) VALUES "
                "(%s, %s, 'done', 'current', 1, 'backfill', 'r', 1, now(), now(), 's', %s, 'd', "
                "0, 0, 0, 0, 0, 0, 'x', 10, 1, now(), 0, '{}')",
                (FIRST, region, code),
            )
            connection.execute(
                "INSERT INTO recompute_proof (at, date, region, is_same, rows, proved_by) VALUES "
                "('2030-01-02 03:04+00', %s, %s, true, 1, 'nightly')",
                (FIRST, region),
            )
    assert risks(told())["non-determinism"] == (
        True,
        f"code {version[:12]}; 1 partitions recomputed by it, 0 differed, "
        "the last 2030-01-02 03:04 UTC",
    )
