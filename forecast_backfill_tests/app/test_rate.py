"""A partition task and the rate: it waits in turns, outside the transaction, until told to stop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from forecast_backfill.app.run_partition import run_batch
from forecast_backfill.core.errors import EpochRaised
from forecast_backfill.core.outcome import Written
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import Workload
from forecast_backfill.ports import Step
from forecast_backfill.wiring.partition import Wiring, open_wiring
from forecast_backfill_tests.app.campaigns import FIRST, land_campaign, settings_for

PARTITION = Partition(date=FIRST, region="R01")
RUN = "5f0c"


class HastyClock:
    """Sleeps next to nothing, notes for how long it was asked to, and then does what it is told."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self.then: list[str] = []
        self.url = ""

    def now(self) -> datetime:
        return datetime(2026, 12, 1, tzinfo=UTC)

    def monotonic(self) -> float:
        return sum(self.asked)

    def sleep(self, seconds: float) -> None:
        self.asked.append(seconds)
        if self.then:
            change(self.url, self.then.pop(0))


def change(url: str, knobs: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(
            f"UPDATE forecast_backfill.workload_control SET {knobs} "
            "WHERE workload = 'backfill'".encode()
        )


@pytest.fixture
def clock(database_url: str) -> HastyClock:
    hasty = HastyClock()
    hasty.url = database_url
    return hasty


@pytest.fixture
def wiring(database_url: str, tmp_path: Path) -> Iterator[Wiring]:
    land_campaign(tmp_path, [PARTITION])
    settings = settings_for(database_url, tmp_path)
    with open_wiring(settings, workload=Workload.BACKFILL, run_id=RUN) as opened:
        yield opened


def owe(url: str, rows: int, *, rate: int) -> None:
    """A bucket so many rows in debt, at that rate."""
    change(url, f"rate = {rate}")
    with psycopg.connect(url) as connection:
        connection.execute(
            "UPDATE forecast_backfill.workload_bucket SET taken = %s, filled = 0, rate = %s, "
            "filled_at = clock_timestamp() WHERE workload = 'backfill'",
            (rows, rate),
        )


def run(wiring: Wiring, clock: HastyClock) -> list[str]:
    ports = replace(wiring.ports, clock=clock)
    outcomes = run_batch([PARTITION], wiring.request(), ports, lambda outcome: None)
    return [type(each).__name__ for each in outcomes]


def waits(url: str) -> list[tuple[str, float]]:
    with psycopg.connect(url) as connection:
        return connection.execute(
            "SELECT cause, seconds FROM forecast_backfill.workload_wait ORDER BY cause"
        ).fetchall()


def taken(url: str) -> float:
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT taken FROM forecast_backfill.workload_bucket WHERE workload = 'backfill'"
        ).fetchone()
    assert row is not None
    return float(row[0])


def test_without_a_rate_no_token_is_taken(
    wiring: Wiring, clock: HastyClock, database_url: str
) -> None:
    assert run(wiring, clock) == [Written.__name__]
    assert (clock.asked, taken(database_url)) == ([], 0.0)


def test_rows_are_waited_for_and_the_seconds_counted_for_the_rate(
    wiring: Wiring, clock: HastyClock, database_url: str
) -> None:
    """Two rows at the end of a debt of 3 rows: at 10 a second their turn is half a second off."""
    owe(database_url, 3, rate=10)
    assert run(wiring, clock) == [Written.__name__]
    assert taken(database_url) == 5.0
    assert len(clock.asked) == 1
    assert 0.1 < clock.asked[0] <= 0.5
    assert waits(database_url) == [("rate", clock.asked[0])]


def test_the_wait_is_over_before_the_transaction_begins(
    wiring: Wiring, clock: HastyClock, database_url: str
) -> None:
    owe(database_url, 3, rate=10)
    seen: list[tuple[Step, int]] = []
    ports = replace(
        wiring.ports,
        clock=clock,
        checkpoint=lambda step, partition: seen.append((step, len(clock.asked))),
    )
    run_batch([PARTITION], wiring.request(), ports, lambda outcome: None)
    assert dict(seen)[Step.PREPARED] == 0
    assert dict(seen)[Step.LEASED] == 1


def test_a_higher_rate_takes_hold_while_somebody_waits(
    wiring: Wiring, clock: HastyClock, database_url: str
) -> None:
    """A million rows at 10 a second would be a day; without a limit the next look is the last."""
    owe(database_url, 1_000_000, rate=10)
    clock.then = ["rate = NULL"]
    assert run(wiring, clock) == [Written.__name__]
    assert clock.asked == [0.5]


def test_a_kill_ends_the_wait_and_nothing_is_written(
    wiring: Wiring, clock: HastyClock, database_url: str
) -> None:
    owe(database_url, 1_000_000, rate=10)
    clock.then = ["epoch = epoch + 1"]
    with pytest.raises(EpochRaised, match="epoch 1, now it is 2"):
        run(wiring, clock)
    with psycopg.connect(database_url) as connection:
        stored = connection.execute("SELECT count(*) FROM forecast_backfill.daily_demand")
        assert stored.fetchone() == (0,)
        level = connection.execute(
            "SELECT filled > 1.9 FROM forecast_backfill.workload_bucket WHERE workload = 'backfill'"
        ).fetchone()
    assert level == (True,), "its turn was not given back"


def test_a_pause_ends_the_wait_and_the_slot_is_free_until_it_is_lifted(
    wiring: Wiring, clock: HastyClock, database_url: str
) -> None:
    owe(database_url, 1_000_000, rate=10)
    clock.then = ["intent = 'paused'", "intent = 'running', rate = NULL"]
    assert run(wiring, clock) == [Written.__name__]
    assert [cause for cause, _ in waits(database_url)] == ["pause", "rate"]
