"""pause, resume, cap, kill and status against a database: what is recorded, told and refused."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner, Result

from forecast_backfill.cli.main import cli
from forecast_backfill.core.errors import UsageRefused


@pytest.fixture(autouse=True)
def environment(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four slots, two of them nightly's, and no Dagster anywhere."""
    for name, value in {
        "DATABASE_URL": database,
        "DAGSTER_URL": "http://127.0.0.1:9",
        "SLOTS": "4",
        "NIGHTLY_PEAK": "2",
    }.items():
        monkeypatch.setenv(f"FORECAST_BACKFILL_{name}", value)
    monkeypatch.setenv("LOGNAME", "ana")


def call(*words: str) -> Result:
    """Call a verb; an expected error is raised as it is."""
    result = CliRunner().invoke(cli, words, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result


def told(*words: str) -> dict[str, Any]:
    """What a verb prints with --json."""
    return dict(json.loads(call(*words, "--json").stdout))


def backfill() -> dict[str, Any]:
    """What status says of backfill."""
    return dict(told("status")["workloads"]["backfill"])


def test_a_pause_is_recorded_with_who_and_why_and_shown_as_intent_and_as_fact() -> None:
    found = told("pause", "--reason", "deploy")
    assert (found["motion"], found["intent"], found["changed_by"]) == ("paused", "paused", "ana")
    shown = backfill()
    assert shown["asked"]["intent"] == "paused"
    assert shown["in_force"] == {
        "slots": 0,
        "cause": "pause",
        "reason": "paused: deploy (ana)",
    }
    assert [(each["verb"], each["reason"]) for each in shown["changes"]] == [("pause", "deploy")]


def test_a_resume_says_by_whom_it_was_paused() -> None:
    call("pause", "--reason", "deploy")
    shown = call("resume", "--reason", "done").stdout
    assert shown == "backfill goes on\n  it was paused by ana: deploy\n"
    assert told("resume", "--reason", "again")["was_paused"] is False


def test_a_resume_gives_the_reason_of_the_pause_not_of_a_later_cap() -> None:
    call("pause", "--reason", "deploy")
    call("cap", "1", "--reason", "carefully")
    shown = call("resume", "--reason", "done").stdout
    assert shown == "backfill goes on\n  it was paused by ana: deploy\n"


def test_a_pause_of_nightly_leaves_backfill_alone() -> None:
    call("pause", "--workload", "nightly", "--reason", "outage")
    found = told("status")["workloads"]
    assert found["nightly"]["motion"] == "paused"
    assert found["backfill"]["motion"] == "running"


def test_a_resume_resets_a_trip_and_says_what_tripped(database: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute(
            "UPDATE forecast_backfill.workload_pace SET level = 'tripped', share = 0.1,"
            " signal = 'wal_rate', value = 9, reason = 'WAL 9 MB/s' WHERE workload = 'backfill'"
        )
    found = told("resume", "--reason", "the disk was changed")
    assert found["tripped"]["signal"] == "wal_rate"
    assert found["tripped"]["reason"] == "WAL 9 MB/s"
    assert told("resume", "--reason", "again")["tripped"] is None


@pytest.mark.parametrize(
    ("words", "cap", "in_force"),
    [(("cap", "1"), 1, 1), (("cap", "4"), 4, 4), (("cap", "0"), 0, 0), (("cap", "auto"), None, 2)],
)
def test_a_cap_holds_at_once(words: tuple[str, ...], cap: int | None, in_force: int) -> None:
    found = told(*words, "--reason", "lag")
    assert (found["cap"], found["cap_in_force"]) == (cap, in_force)


def test_a_rate_is_set_beside_the_cap_and_taken_off_again() -> None:
    found = told("cap", "1", "--rate", "500", "--reason", "canary")
    assert (found["cap"], found["rate"]) == (1, 500)
    assert "rate: no limit" in call("cap", "--rate", "off", "--reason", "over").stdout
    assert [each["verb"] for each in backfill()["changes"]] == ["rate", "rate", "cap"]


@pytest.mark.parametrize(
    "words",
    [("cap", "5"), ("cap", "many"), ("cap", "--rate", "0"), ("cap", "--rate", "9" * 20)],
)
def test_a_number_that_cannot_be_meant_is_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(UsageRefused, match="was refused"):
        call(*words, "--reason", "lag")
    assert backfill()["changes"] == []


@pytest.mark.parametrize("verb", ["pause", "resume", "cap", "kill"])
def test_no_knob_is_turned_without_a_reason(verb: str) -> None:
    words = (verb, "auto") if verb == "cap" else (verb,)
    with pytest.raises(UsageRefused, match="no reason was given"):
        call(*words, "--reason", "  ")


def test_a_kill_without_dagster_holds_by_the_epoch_and_leaves_backfill_paused() -> None:
    result = call("kill", "--reason", "wrong transform", "--json")
    found = json.loads(result.stdout)
    assert result.return_value == 1
    assert (found["epoch"], found["in_flight"], found["is_paused"]) == (2, 0, True)
    assert "refused" in found["unreached"]
    shown = backfill()
    assert (shown["asked"]["epoch"], shown["in_force"]["cause"]) == (2, "pause")


def test_status_says_that_a_campaign_was_cancelled_instead_of_when_it_ends(database: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("CREATE TABLE public.bulk_actions (key text, status text)")
        connection.execute("INSERT INTO public.bulk_actions VALUES ('abcdefgh', 'CANCELED')")
        connection.execute(
            "INSERT INTO forecast_backfill.campaign "
            "(campaign_id, workload, partitions, launched_at, launched_by, reprocess, detail) "
            "VALUES ('abcdefgh', 'backfill', 40, now(), 'ana', false, '{}')"
        )
    assert "0 failed · 40 not done: cancelled\n" in call("status").stdout
    (shown,) = told("status")["campaigns"]
    assert (shown["over"], shown["left"], shown["eta_seconds"]) == ("cancelled", 40, None)


def test_status_leads_with_what_holds_and_why() -> None:
    call("cap", "1", "--reason", "lag")
    lines = call("status").stdout.splitlines()
    assert lines[0] == (
        "backfill   running · 0 in flight · may hold 1 (a cap of 1 was asked for: lag (ana))"
    )
    assert lines[1].startswith("           pace ")
    assert lines[2].startswith("           last: cap by ana ")
