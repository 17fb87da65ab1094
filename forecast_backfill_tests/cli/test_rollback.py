"""`rollback` and `accept` at the command line, and what is kept in `status`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import psycopg
import pytest
from click.testing import CliRunner, Result

from forecast_backfill.cli import accept, rollback, status
from forecast_backfill.cli.kept_text import kept_line, shown_bytes
from forecast_backfill.core.errors import UsageRefused
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import Workload
from forecast_backfill.warehouse.acceptances import KeptCampaign, SupersededSize
from forecast_backfill.warehouse.control import PostgresControl, change_knobs
from forecast_backfill.warehouse.superseded import PostgresRollbacks
from forecast_backfill_tests.app.campaigns import FIRST, settings_for
from forecast_backfill_tests.app.rollbacks import A, B, Chain

ONE, TWO = (Partition(date=FIRST, region=region) for region in ("R01", "R02"))
NOW = datetime(2026, 12, 1, tzinfo=UTC)


@pytest.fixture
def chain(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Chain]:
    monkeypatch.setenv("FORECAST_BACKFILL_DATABASE_URL", database_url)
    monkeypatch.setenv("FORECAST_BACKFILL_HOME", str(tmp_path))
    monkeypatch.setenv("FORECAST_BACKFILL_BACKFILL_NICE", "0")
    with ExitStack() as stack:
        found = Chain(settings_for(database_url, tmp_path), stack)
        for each in (ONE, TWO):
            found.write(each, {A: 1}, campaign="spring")
            found.write(each, {A: 2, B: 2}, campaign="summer")
        yield found


def end_connections(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def run(module: object, *words: str) -> Result:
    command = module.command  # type: ignore[attr-defined]
    return CliRunner().invoke(command, list(words), standalone_mode=False)


def fields(done: Result) -> dict[str, object]:
    assert done.exception is None, done.exception
    return dict(json.loads(done.stdout))


def test_a_rollback_says_what_is_back(chain: Chain) -> None:
    done = run(rollback, "--campaign", "summer", "--regions", "R02")
    assert done.return_value == 0
    assert done.stdout == (
        "1 partitions of summer are back as they were before it, 0 were already · 1 rows\n"
    )
    told = fields(run(rollback, "--campaign", "summer", "--json"))
    assert (told["rolled_back"], told["already_back"], told["rows"]) == (1, 1, 1)


@pytest.mark.parametrize(
    "step",
    [
        (PostgresRollbacks, "list"),
        (PostgresControl, "conditions"),
        (rollback, "is_under_way"),
        (PostgresControl, "epoch"),
    ],
    ids=lambda step: step[1],
)
def test_a_database_that_restarts_before_the_first_partition_does_not_end_it(
    chain: Chain, monkeypatch: pytest.MonkeyPatch, step: tuple[object, str]
) -> None:
    owner, name = step
    ask, restarts = getattr(owner, name), [1]

    def interrupted(*words: object, **named: object) -> object:
        if restarts and restarts.pop():
            ask(*words, **named)
            end_connections(chain.url)
        return ask(*words, **named)

    monkeypatch.setattr(owner, name, interrupted)
    told = fields(run(rollback, "--campaign", "summer", "--json"))
    assert (told["rolled_back"], told["failed"], restarts) == (2, 0, [])


def test_what_was_written_since_is_named_and_the_exit_code_is_1(chain: Chain) -> None:
    chain.write(ONE, {A: 7}, exported=2)
    done = run(rollback, "--campaign", "summer")
    assert done.return_value == 1
    assert f"{ONE}  run-5 has written it since" in done.stderr
    told = fields(run(rollback, "--campaign", "summer", "--json"))
    assert told["not_rolled_back"] == [
        {
            "date": FIRST.isoformat(),
            "region": "R01",
            "failed": False,
            "reason": "run-5 has written it since",
        }
    ]


def test_an_unknown_campaign_and_a_range_without_it_are_refused(chain: Chain) -> None:
    for words in (("--campaign", "winter"), ("--campaign", "summer", "--from", "2027-01-01")):
        with pytest.raises(UsageRefused, match="nothing is kept of"):
            raise run(rollback, *words).exception or AssertionError


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--regions", "R77"), "unknown region 'R77'"),
        (("--regions", " , "), "no region was named"),
        (("--from", "2026-11-03", "--to", "2026-11-02"), "holds no date"),
    ],
)
def test_what_cannot_be_meant_is_not_taken_for_a_campaign_without_rows(
    chain: Chain, words: tuple[str, ...], told: str
) -> None:
    with pytest.raises(UsageRefused, match=told):
        raise run(rollback, "--campaign", "summer", *words).exception or AssertionError


def test_a_rollback_that_waits_says_why(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    with chain.rollback.session.transaction() as connection:
        change_knobs(
            connection, Workload.BACKFILL, "pause", reason="x", changed_by="ana", intent="paused"
        )
    monkeypatch.setattr(rollback, "roll_back", lambda *given: [])
    done = run(rollback, "--campaign", "summer")
    assert done.stderr == "nothing starts yet: paused: x (ana); it waits\n"


def test_a_campaign_that_is_under_way_is_told_to_be_ended_first(chain: Chain) -> None:
    with chain.rollback.session.use() as connection:
        connection.execute("CREATE TABLE public.bulk_actions (key text, status text)")
        connection.execute("INSERT INTO public.bulk_actions VALUES ('summer', 'REQUESTED')")
    assert "summer is still under way" in run(rollback, "--campaign", "summer").stderr
    assert run(rollback, "--campaign", "spring").stderr == ""


def test_all_regions_can_be_named_as_such(chain: Chain) -> None:
    told = fields(run(rollback, "--campaign", "summer", "--regions", "all", "--json"))
    assert told["rolled_back"] == 2


def test_a_run_of_nightly_is_not_rolled_back(chain: Chain) -> None:
    chain.write(ONE, {A: 7}, exported=2)
    with pytest.raises(UsageRefused, match="'run-5' was nightly's own run"):
        raise run(rollback, "--campaign", "run-5").exception or AssertionError


def test_an_accepted_campaign_is_freed_and_told_of(chain: Chain) -> None:
    words = ("--campaign", "summer", "--reason", "looks good")
    told = fields(run(accept, *words, "--json"))
    assert told["accepted"][0]["rows"] == 2  # type: ignore[index]
    assert [each["campaign_id"] for each in told["kept"]["campaigns"]] == ["spring"]  # type: ignore[index]
    assert "0 partitions, 0 rows freed" in run(accept, *words).stdout


def test_accept_wants_a_campaign_or_the_expired_and_a_reason(chain: Chain) -> None:
    assert isinstance(run(accept, "--reason", "x").exception, click.UsageError)
    both = run(accept, "--reason", "x", "--expired", "--campaign", "summer")
    assert isinstance(both.exception, click.UsageError)
    assert isinstance(run(accept, "--expired").exception, click.UsageError)


def test_accept_of_what_is_expired_leaves_what_is_young(chain: Chain) -> None:
    done = run(accept, "--expired", "--reason", "monthly")
    assert done.stdout.startswith("nothing is kept longer than it has to be\n")


def test_status_shows_what_is_kept_and_what_is_back(chain: Chain) -> None:
    run(rollback, "--campaign", "summer", "--regions", "R01")
    told = fields(run(status, "--json"))
    assert [
        (each["campaign_id"], each["partitions"], each["rolled_back"], each["expired"])
        for each in told["kept"]["campaigns"]  # type: ignore[index]
    ] == [("spring", 2, 0, False), ("summer", 2, 1, False)]
    summer = fields(run(status, "--campaign", "summer", "--json"))["campaigns"][0]  # type: ignore[index]
    assert (summer["rolled_back"], summer["done"]) == (1, 1)
    assert "1/2 done · 1 rolled back · " in run(status, "--campaign", "summer").stdout
    assert "1 rows of 2 campaigns and runs\n" in run(status).stdout


def test_what_is_kept_too_long_is_said_with_what_to_do() -> None:
    old, young = (
        KeptCampaign(
            campaign_id=name,
            workload=Workload.BACKFILL,
            partitions=1,
            rolled_back=0,
            rows=1_000,
            last_at=NOW - timedelta(days=days),
        )
        for name, days in (("spring", 31), ("summer", 29))
    )
    size = SupersededSize(bytes=2_500_000, campaigns=(old, young))
    assert kept_line(size, now=NOW, days=30) == (
        "2.5 MB kept for rollbacks: 2,000 rows of 2 campaigns and runs; 1 older than 30 days: "
        "forecast-backfill accept --expired"
    )
    assert kept_line(SupersededSize(bytes=8192, campaigns=()), now=NOW, days=30) == (
        "nothing is kept for rollbacks"
    )
    assert (shown_bytes(999), shown_bytes(3_000_000_000)) == ("999 bytes", "3.0 GB")
