"""`shadow` at the command line: every step, what it prints, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from forecast_backfill.app.campaign import PartitionSpan
from forecast_backfill.cli import launching
from forecast_backfill.cli.shadow import command
from forecast_backfill.cli.status import command as status
from forecast_backfill.core.errors import DiskTooFull, ShadowRefused, UsageRefused, WarehouseRefused
from forecast_backfill.core.partition import Partition
from forecast_backfill.warehouse.plan_facts import PostgresPlanFacts
from forecast_backfill_tests.app.campaigns import FIRST, settings_for
from forecast_backfill_tests.app.rollbacks import A, B, Chain
from forecast_backfill_tests.app.shadows import DEFINITION, columns

ONE, TWO = (Partition(date=FIRST, region=region) for region in ("R01", "R02"))
NEXT = Partition(date=FIRST + timedelta(days=1), region="R01")
WHY = ("--reason", "new columns")


@pytest.fixture
def chain(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Chain]:
    monkeypatch.setenv("FORECAST_BACKFILL_DATABASE_URL", database_url)
    monkeypatch.setenv("FORECAST_BACKFILL_HOME", str(tmp_path))
    monkeypatch.setenv("FORECAST_BACKFILL_BACKFILL_NICE", "0")
    (tmp_path / "v2.toml").write_text(DEFINITION)
    with ExitStack() as stack:
        found = Chain(settings_for(database_url, tmp_path), stack)
        found.write(ONE, {A: 1}, campaign="spring")
        found.write(TWO, {A: 2, B: 2}, campaign="spring")
        yield found


def run(*words: str) -> Result:
    return CliRunner().invoke(command, list(words), standalone_mode=False)


def fields(*words: str) -> dict[str, object]:
    done = run(*words, "--json")
    assert done.exception is None, done.exception
    return dict(json.loads(done.stdout))


def start(tmp_path: Path) -> None:
    told = fields("start", "--definition", str(tmp_path / "v2.toml"), *WHY)
    assert told == {"shadow_id": 1, "state": "building", "due": 2}


def test_a_shadow_goes_all_its_way_at_the_command_line(chain: Chain, tmp_path: Path) -> None:
    start(tmp_path)
    assert fields("backfill", "--here") == {"filled": 2, "rows": 3, "failed": []}
    assert run("validate").stdout == (
        "shadow 1 is validated: 2 of 2 partitions are equal by the mapping, 0 left out, 3 rows\n"
        '  next: forecast-backfill shadow swap --reason "…"\n'
    )
    assert run("swap", *WHY).stdout.startswith("readers read shadow 1; 1 tries, ")
    assert "quantity" in columns(chain.url)
    done = run("drop", *WHY)
    assert isinstance(done.exception, ShadowRefused)
    assert fields("revert", *WHY)["shadow_id"] == 1
    assert run("drop", *WHY).stdout.startswith("shadow 1 was dropped; ")
    (told,) = json.loads(run("status", "--json").stdout)
    assert (told["state"], told["step"], told["reason"]) == ("dropped", "drop", "new columns")
    assert run("status").stdout.endswith("readers read daily_demand\n")


def test_nothing_is_filled_on_a_disk_without_room_for_all_of_it(
    chain: Chain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(tmp_path)
    with monkeypatch.context() as full:
        full.setattr(PostgresPlanFacts, "free_bytes", lambda self: 2)
        assert isinstance(run("backfill", "--here").exception, DiskTooFull)
    assert fields("backfill", "--here")["filled"] == 2


def test_what_differs_is_named_until_it_is_left_out_with_a_reason(
    chain: Chain, tmp_path: Path
) -> None:
    start(tmp_path)
    chain.write(TWO, {A: 40_000}, exported=2)
    done = run("backfill", "--here")
    assert done.return_value == 1
    assert f"  {TWO}  smallint out of range" in done.stdout
    done = run("validate")
    assert done.return_value == 1
    assert f"  {TWO}  a live row cannot be mapped: smallint out of range" in done.stdout
    leave_out = ("validate", "--leave-out", f"{FIRST}|R02")
    assert isinstance(run(*leave_out).exception, click.UsageError)
    told = fields(*leave_out, "--reason", "a known bad import")
    assert (told["state"], told["differing"]) == ("validated", [])
    assert told["left_out"][0]["left_out"] == "a known bad import"  # type: ignore[index]
    said = "shadow 1 is validated: 1 partitions are not as they are live; validate by "
    assert said in run("status").stdout
    assert said in CliRunner().invoke(status, [], standalone_mode=False).stdout


def test_without_a_shadow_the_next_command_starts_one(chain: Chain) -> None:
    for words in (("backfill", "--here"), ("validate",), ("swap", *WHY)):
        with pytest.raises(ShadowRefused, match="shadow start --definition"):
            raise run(*words).exception or AssertionError


def test_a_warehouse_elsewhere_has_no_shadow(
    chain: Chain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORECAST_BACKFILL_WAREHOUSE", "delta")
    done = run("start", "--definition", str(tmp_path / "v2.toml"), *WHY)
    assert isinstance(done.exception, WarehouseRefused)


def test_a_file_that_is_no_definition_and_a_text_that_is_no_partition_are_refused(
    chain: Chain, tmp_path: Path
) -> None:
    (tmp_path / "bad.toml").write_text("[columns.a]\n")
    done = run("start", "--definition", str(tmp_path / "bad.toml"), *WHY)
    assert isinstance(done.exception, ShadowRefused)
    start(tmp_path)
    done = run("validate", "--leave-out", "yesterday", *WHY)
    assert isinstance(done.exception, UsageRefused)


def test_a_held_shadow_is_started_without_a_file_and_takes_no_backfill(
    chain: Chain, tmp_path: Path
) -> None:
    both = run("start", "--hold", "--definition", str(tmp_path / "v2.toml"), *WHY)
    assert isinstance(both.exception, click.UsageError)
    assert isinstance(run("start", *WHY).exception, click.UsageError)
    assert fields("start", "--hold", *WHY)["due"] == 2
    assert fields("backfill", "--here")["filled"] == 2
    assert run("validate").return_value == 0
    assert run("swap", *WHY).return_value == 0
    assert isinstance(run("backfill", "--here").exception, ShadowRefused)


def test_a_campaign_fills_what_is_done_before_the_seam_and_the_verb_does_the_rest(
    chain: Chain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The seam lies on the second date: nightly owns it, so no campaign may come to it."""
    launched: list[object] = []

    class Orchestrator:
        def __init__(self, url: str) -> None:
            self.url = url

        def launch(self, spans: object, *, tags: object, title: str) -> str:
            launched.append((spans, title))
            return "c-1"

        def url_of(self, campaign_id: str) -> str:
            return f"{self.url}/{campaign_id}"

    monkeypatch.setattr(launching, "DagsterClient", Orchestrator)
    for name, value in (("FIRST_DATE", FIRST), ("AS_OF", NEXT.date), ("SEAM", NEXT.date)):
        monkeypatch.setenv(f"FORECAST_BACKFILL_{name}", str(value))
    chain.write(NEXT, {A: 7})
    assert fields("start", "--definition", str(tmp_path / "v2.toml"), *WHY)["due"] == 3
    assert fields("backfill")["requested"] == 2
    assert launched == [((PartitionSpan(first=ONE, last=TWO),), "shadow 1: 2 partitions")]
    told = json.loads(run("status", "--json").stdout)
    assert [(each["date"], each["region"]) for each in told[0]["due"]] == [
        (str(FIRST), "R01"), (str(FIRST), "R02"),
    ]  # fmt: skip
