"""The bucket on the database's clock: filled at the rate, kept small, owed in turns."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from forecast_backfill.core.states import Workload
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.rate import PostgresRate
from forecast_backfill_tests.postgres.rows import open_session

BACKFILL = Workload.BACKFILL


@pytest.fixture
def session(database: str) -> Iterator[Session]:
    with open_session(database) as opened:
        yield opened


@pytest.fixture
def rate(session: Session) -> PostgresRate:
    return PostgresRate(session)


def set_rate(database: str, rate: int | None) -> None:
    execute(database, "UPDATE workload_control SET rate = %s WHERE workload = 'backfill'", (rate,))


def set_bucket(database: str, *, taken: int, filled: int, seconds_ago: float, rate: int) -> None:
    execute(
        database,
        "UPDATE workload_bucket SET taken = %s, filled = %s, rate = %s,"
        " filled_at = clock_timestamp() - make_interval(secs => %s) WHERE workload = 'backfill'",
        (taken, filled, rate, seconds_ago),
    )


def execute(database: str, statement: str, values: tuple[object, ...]) -> None:
    options = "-c search_path=forecast_backfill"
    with psycopg.connect(database, options=options) as connection:
        connection.execute(statement.encode(), values)


def test_tokens_come_in_at_the_rate(database: str, rate: PostgresRate) -> None:
    set_rate(database, 10)
    set_bucket(database, taken=1_000, filled=0, seconds_ago=20.0, rate=10)
    level = rate.look(BACKFILL)
    assert level.taken == 1_000
    assert 200.0 <= level.filled < 250.0


def test_an_idle_bucket_saves_up_no_more_than_a_small_burst(
    database: str, rate: PostgresRate
) -> None:
    set_rate(database, 1_000)
    set_bucket(database, taken=0, filled=0, seconds_ago=3_600.0, rate=1_000)
    assert rate.look(BACKFILL).filled == 100.0


def test_each_turn_comes_after_the_one_before(database: str, rate: PostgresRate) -> None:
    set_rate(database, 10)
    rate.look(BACKFILL)
    first, second = rate.take(BACKFILL, 500), rate.take(BACKFILL, 300)
    assert (first.taken, second.taken) == (500.0, 800.0)
    assert first.seconds_until(first.taken) > 40.0
    assert second.seconds_until(second.taken) > second.seconds_until(first.taken) + 29.0


def test_a_turn_that_is_given_back_brings_the_others_forward(
    database: str, rate: PostgresRate
) -> None:
    set_rate(database, 10)
    set_bucket(database, taken=1_000, filled=0, seconds_ago=0.0, rate=10)
    rate.give_back(BACKFILL, 600)
    level = rate.look(BACKFILL)
    assert level.taken == 1_000
    assert 600.0 <= level.filled < 650.0


def test_a_new_rate_counts_from_when_it_was_asked_for(database: str, rate: PostgresRate) -> None:
    """Twenty seconds at 10 are 200 tokens, however high the rate is from now on."""
    set_bucket(database, taken=1_000_000, filled=0, seconds_ago=20.0, rate=10)
    set_rate(database, 20_000)
    level = rate.look(BACKFILL)
    assert level.rate == 20_000
    assert 200.0 <= level.filled < 250.0


def test_a_clock_that_was_set_back_takes_no_token_away(database: str, rate: PostgresRate) -> None:
    set_rate(database, 10)
    set_bucket(database, taken=1_000, filled=500, seconds_ago=-3_600.0, rate=10)
    assert rate.look(BACKFILL).filled == 500.0
    assert 500.0 <= rate.look(BACKFILL).filled < 550.0


def test_without_a_rate_nothing_is_owed(database: str, rate: PostgresRate) -> None:
    set_bucket(database, taken=1_000, filled=0, seconds_ago=0.0, rate=10)
    set_rate(database, None)
    level = rate.look(BACKFILL)
    assert (level.filled, level.rate) == (1_000.0, None)


def test_the_other_workload_has_a_bucket_of_its_own(database: str, rate: PostgresRate) -> None:
    set_rate(database, 10)
    rate.take(BACKFILL, 500)
    assert rate.look(Workload.NIGHTLY).taken == 0.0


def test_a_look_tells_of_a_kill_and_of_a_pause(database: str, rate: PostgresRate) -> None:
    execute(
        database,
        "UPDATE workload_control SET epoch = 7, intent = 'paused', reason = 'deploy',"
        " changed_by = %s WHERE workload = 'backfill'",
        ("ana",),
    )
    level = rate.look(BACKFILL)
    assert (level.epoch, level.is_paused, level.reason) == (7, True, "deploy (ana)")
