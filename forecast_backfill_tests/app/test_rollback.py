"""Rollback: the exact earlier bytes and record, unless somebody has written since."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from forecast_backfill.core.errors import EpochRaised
from forecast_backfill.core.outcome import Written
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.rollback import Left, NotRolledBack, RolledBack
from forecast_backfill.core.states import OutputState
from forecast_backfill.core.version import Winner
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.ledger import PostgresLedger
from forecast_backfill.warehouse.partitions import lease_key
from forecast_backfill_tests.app.campaigns import FIRST, PROCESSES, settings_for
from forecast_backfill_tests.app.rollbacks import A, B, Chain, names
from forecast_backfill_tests.postgres.rows import fetch

FOUR = [
    Partition(date=FIRST + timedelta(days=day), region=region)
    for day in (0, 1)
    for region in ("R01", "R02")
]
ONE = FOUR[0]


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    return settings_for(database_url, tmp_path)


@pytest.fixture
def chain(settings: Settings) -> Iterator[Chain]:
    with ExitStack() as stack:
        yield Chain(settings, stack)


def execute(url: str, statement: str) -> None:
    with psycopg.connect(url, options="-c search_path=forecast_backfill") as connection:
        connection.execute(statement.encode())


def states(url: str) -> list[tuple[str, ...]]:
    return fetch(url, "SELECT status, output FROM partition_ledger ORDER BY date, region")


def kept(url: str) -> int:
    return int(fetch(url, "SELECT count(*) FROM daily_demand_superseded")[0][0])


def test_half_a_campaign_goes_back_to_the_exact_earlier_bytes_and_record(chain: Chain) -> None:
    for each in FOUR:
        chain.write(each, {A: 1, B: 2}, campaign="spring", exported=1)
    before = chain.everything()
    for each in FOUR:
        chain.write(each, {A: 5}, campaign="summer", exported=2, code=1)
    after = chain.everything()
    half = chain.roll_back("summer", start=FIRST, end=FIRST + timedelta(days=1))
    assert names(half) == ["RolledBack", "RolledBack"]
    assert chain.rows() == sorted(
        [row for row in before[0] if str(FIRST) in row]
        + [row for row in after[0] if str(FIRST) not in row]
    )
    assert names(chain.roll_back("summer", regions=["R02"])) == ["AlreadyBack", "RolledBack"]
    assert names(chain.roll_back("summer")) == [
        "AlreadyBack", "AlreadyBack", "RolledBack", "AlreadyBack",
    ]  # fmt: skip
    assert chain.everything() == before
    assert states(chain.url) == [("done", "current")] * 4


def test_what_was_not_there_before_is_absent_again(chain: Chain) -> None:
    chain.write(ONE, {A: 1}, campaign="spring")
    (outcome,) = chain.roll_back("spring")
    assert isinstance(outcome, RolledBack)
    assert (outcome.output, outcome.rows, outcome.removed_rows) == (OutputState.ABSENT, 0, 1)
    assert chain.everything() == ([], [])
    assert fetch(chain.url, "SELECT status, output, reason FROM partition_ledger") == [
        ("rolled_back", "absent", "campaign spring was rolled back")
    ]


def test_an_event_tells_of_it_in_the_name_of_the_campaign(chain: Chain) -> None:
    chain.write(ONE, {A: 1}, campaign="spring")
    chain.write(ONE, {A: 3, B: 3}, campaign="summer")
    chain.roll_back("summer")
    assert fetch(
        chain.url,
        "SELECT kind, campaign_id, run_id, rows, detail->>'removed_rows' FROM partition_event "
        "ORDER BY event_id DESC LIMIT 1",
    ) == [("rolled_back", "summer", "rollback-1", 1, "2")]


def test_a_campaign_that_wrote_twice_goes_back_to_before_its_first_write(chain: Chain) -> None:
    chain.write(ONE, {A: 1}, campaign="spring")
    before = chain.everything()
    chain.write(ONE, {A: 2}, campaign="summer")
    chain.write(ONE, {A: 3, B: 3}, campaign="summer")
    assert kept(chain.url) == 1
    chain.roll_back("summer")
    assert chain.everything() == before


def test_equal_bytes_are_not_copied_until_the_campaign_changes_them(chain: Chain) -> None:
    chain.write(ONE, {A: 1, B: 1}, campaign="spring")
    before = chain.everything()
    chain.write(ONE, {A: 0, B: 0}, campaign="summer", code=1)
    assert (chain.rows(), kept(chain.url)) == (before[0], 0)
    assert chain.outputs() != before[1]
    assert names(chain.roll_back("summer")) == ["RolledBack"]
    assert chain.everything() == before
    chain.write(ONE, {A: 0, B: 0}, campaign="summer", code=1)
    chain.write(ONE, {A: 7}, campaign="summer", code=1)
    assert kept(chain.url) == 2
    chain.roll_back("summer")
    assert chain.everything() == before


def test_the_same_content_of_a_newer_export_is_other_bytes(chain: Chain) -> None:
    chain.write(ONE, {A: 1}, campaign="spring", exported=1)
    before = chain.everything()
    chain.write(ONE, {A: 1}, campaign="summer", exported=2)
    assert kept(chain.url) == 1
    chain.roll_back("summer")
    assert chain.everything() == before


def test_what_nightly_has_written_since_is_left_and_reported(chain: Chain) -> None:
    chain.write(ONE, {A: 1}, campaign="spring")
    chain.write(ONE, {A: 9}, exported=2)
    before = chain.everything()
    (outcome,) = chain.roll_back("spring")
    assert outcome == Left(
        partition=ONE,
        reason="run-2 has written it since",
        next_command="nothing, what came later stands; a later campaign is rolled back first, "
        "even one whose rows lost",
    )
    assert chain.everything() == before


def test_the_later_of_two_campaigns_goes_back_first(chain: Chain) -> None:
    chain.write(ONE, {A: 1}, campaign="spring")
    first = chain.everything()
    chain.write(ONE, {A: 2}, campaign="summer")
    chain.write(ONE, {A: 3}, campaign="autumn")
    assert names(chain.roll_back("summer")) == ["Left"]
    assert names(chain.roll_back("autumn")) == ["RolledBack"]
    assert names(chain.roll_back("summer")) == ["RolledBack"]
    assert chain.everything() == first
    assert names(chain.roll_back("spring")) == ["RolledBack"]
    assert chain.everything() == ([], [])


def test_what_others_wrote_between_two_writes_of_a_campaign_comes_back(chain: Chain) -> None:
    chain.write(ONE, {A: 1}, campaign="spring")
    chain.write(ONE, {A: 9, B: 9}, exported=2)
    before = chain.everything()
    chain.write(ONE, {A: 3}, campaign="spring")
    assert names(chain.roll_back("spring")) == ["RolledBack"]
    assert chain.everything() == before


def test_a_campaign_beside_nightly_goes_back_to_nightlys_bytes_and_claims(chain: Chain) -> None:
    chain.write(ONE, {A: 1, B: 1})
    before = chain.everything()
    outcome = chain.write(ONE, {A: 8}, campaign="fix", winner=Winner.CORRECTION)
    assert isinstance(outcome, Written)
    assert outcome.merge is not None
    assert names(chain.roll_back("fix")) == ["RolledBack"]
    assert chain.everything() == before
    assert states(chain.url) == [("done", "current")]


def test_a_second_campaign_beside_nightly_goes_back_to_the_first_ones_claims(chain: Chain) -> None:
    chain.write(ONE, {A: 1, B: 1})
    chain.write(ONE, {A: 8}, campaign="fix", winner=Winner.CORRECTION)
    before = chain.everything()
    chain.write(ONE, {A: 9, B: 9}, campaign="again", winner=Winner.CORRECTION, exported=2)
    assert names(chain.roll_back("again")) == ["RolledBack"]
    assert chain.everything() == before


def test_a_merge_that_changed_nothing_is_undone_in_the_record(chain: Chain) -> None:
    chain.write(ONE, {A: 1}, exported=5)
    before = chain.everything()
    chain.write(ONE, {A: 1}, campaign="late", winner=Winner.LIVE, exported=4)
    assert chain.rows() == before[0]
    assert names(chain.roll_back("late")) == ["RolledBack"]
    assert chain.everything() == before


def test_a_merge_that_lost_goes_back_before_the_campaign_that_it_lost_to(chain: Chain) -> None:
    """Its statement counts, should the winner's rows go: without a rollback it would be lost."""
    chain.write(ONE, {A: 1})
    first = chain.everything()
    chain.write(ONE, {A: 8}, campaign="fix", winner=Winner.CORRECTION, exported=3)
    second = chain.everything()
    chain.write(ONE, {A: 9, B: 9}, campaign="late", winner=Winner.LIVE, exported=2)
    assert chain.rows() == second[0]
    (left,) = chain.roll_back("fix")
    assert isinstance(left, Left)
    assert left.reason == "late has written it since"
    assert "a later campaign is rolled back first, even one whose rows lost" in left.next_command
    assert names(chain.roll_back("late")) == ["RolledBack"]
    assert chain.everything() == second
    assert names(chain.roll_back("fix")) == ["RolledBack"]
    assert chain.everything() == first


def test_rows_of_somebody_unknown_keep_a_partition_from_going_back(chain: Chain) -> None:
    for each in FOUR[:2]:
        chain.write(each, {A: 1}, campaign="spring")
        chain.write(each, {A: 2}, campaign="summer")
    execute(
        chain.url,
        "INSERT INTO daily_demand SELECT date, region, 'foreign', product_id, demand_group, 1, 1, "
        "0, 1, NULL, NULL, NULL, 10, 1, 1 FROM daily_demand WHERE region = 'R01'",
    )
    before = chain.rows()
    bad, good = chain.roll_back("summer")
    assert isinstance(bad, NotRolledBack)
    assert "it held 2 rows, the ledger has 1" in bad.reason
    assert isinstance(good, RolledBack)
    assert [row for row in chain.rows() if "R01" in row] == [row for row in before if "R01" in row]
    assert fetch(
        chain.url, "SELECT kind FROM partition_event WHERE region = 'R01' ORDER BY event_id DESC"
    )[0] == ("failed",)
    assert states(chain.url) == [("done", "current")] * 2


def test_a_copy_that_was_spoiled_is_not_put_back(chain: Chain) -> None:
    chain.write(ONE, {A: 1, B: 1}, campaign="spring")
    chain.write(ONE, {A: 2}, campaign="summer")
    execute(chain.url, "UPDATE daily_demand_superseded SET units = units + 1 WHERE store_id = 's1'")
    before = chain.everything()
    (outcome,) = chain.roll_back("summer")
    assert isinstance(outcome, NotRolledBack)
    assert "before the campaign it was" in outcome.reason
    assert chain.everything() == before
    assert kept(chain.url) == 2


def test_an_attempt_at_work_keeps_its_partition_until_it_is_killed(chain: Chain) -> None:
    chain.write(ONE, {A: 1}, campaign="spring")
    request = chain.rollback.request("spring")
    PostgresLedger(chain.rollback.session).start(ONE, replace(request, run_id="busy"))
    (outcome,) = chain.roll_back("spring")
    assert isinstance(outcome, Left)
    assert outcome.reason == "run busy is at work on it"
    execute(chain.url, "UPDATE workload_control SET epoch = epoch + 1 WHERE workload = 'backfill'")
    assert names(chain.roll_back("spring")) == ["RolledBack"]
    assert states(chain.url) == [("rolled_back", "absent")]


def test_a_partition_whose_lease_is_not_free_does_not_keep_the_others(chain: Chain) -> None:
    for each in FOUR[:2]:
        chain.write(each, {A: 1}, campaign="spring")
    chain.rollback = replace(
        chain.rollback, ports=replace(chain.rollback.ports, retry=lambda attempt: attempt())
    )
    with chain.rollback.session.use() as connection:
        connection.execute("SET lock_timeout = '50ms'")
    with psycopg.connect(chain.url) as other:
        other.execute("SELECT pg_advisory_xact_lock(%s)", (lease_key(ONE),))
        stuck, back = chain.roll_back("spring")
    assert isinstance(stuck, NotRolledBack)
    assert "is being written by another task" in stuck.reason
    assert isinstance(back, RolledBack)


def test_a_rollback_of_a_killed_epoch_changes_nothing(chain: Chain) -> None:
    chain.write(ONE, {A: 1}, campaign="spring")
    before, request = chain.everything(), chain.rollback.request("spring")
    execute(chain.url, "UPDATE workload_control SET epoch = epoch + 1 WHERE workload = 'backfill'")
    with pytest.raises(EpochRaised):
        chain.roll_back("spring", request=request)
    assert chain.everything() == before


def test_below_a_refused_source_the_earlier_output_comes_back_stale(chain: Chain) -> None:
    chain.write(ONE, {A: 1}, campaign="spring")
    before = chain.rows()
    chain.write(ONE, {A: 2}, campaign="summer")
    execute(
        chain.url,
        "UPDATE partition_ledger SET status = 'quarantined', output = 'stale', reason = 'bad file'",
    )
    assert names(chain.roll_back("summer")) == ["RolledBack"]
    assert chain.rows() == before
    assert fetch(chain.url, "SELECT status, output, reason FROM partition_ledger") == [
        ("quarantined", "stale", "bad file")
    ]


def test_what_was_stale_before_is_stale_again(chain: Chain) -> None:
    chain.write(ONE, {A: 1}, campaign="spring")
    execute(
        chain.url,
        "UPDATE partition_ledger SET status = 'quarantined', output = 'stale', reason = 'bad file'",
    )
    before = chain.everything()
    chain.write(ONE, {A: 2}, campaign="summer")
    assert states(chain.url) == [("done", "current")]
    chain.roll_back("summer")
    assert chain.everything() == before
    assert states(chain.url) == [("rolled_back", "stale")]


def test_what_is_back_is_done_for_the_same_source_and_built_anew_from_another(
    chain: Chain,
) -> None:
    chain.write(ONE, {A: 1}, campaign="spring", exported=1)
    chain.write(ONE, {A: 2}, campaign="summer", exported=2)
    chain.roll_back("summer")
    before = chain.everything()
    assert isinstance(chain.write(ONE, {A: 2}, campaign="summer", exported=2), Written)
    assert names(chain.roll_back("summer")) == ["RolledBack"]
    assert chain.everything() == before


def test_rows_wait_for_the_rate_like_any_others(chain: Chain) -> None:
    chain.write(ONE, {A: 1, B: 1}, campaign="spring")
    chain.write(ONE, {A: 2}, campaign="summer")
    execute(chain.url, "UPDATE workload_control SET rate = 1000 WHERE workload = 'backfill'")
    assert names(chain.roll_back("summer")) == ["RolledBack"]
    taken = fetch(chain.url, "SELECT taken FROM workload_bucket WHERE workload = 'backfill'")
    assert taken == [(2.0,)]


def die_in_the_transaction(settings: Settings) -> None:
    with ExitStack() as stack:
        chain = Chain(settings, stack)
        real = chain.rollback.ports.rollbacks
        done: list[Partition] = []

        class Mortal:
            """Dies by SIGKILL in the second partition, between its rows and its record."""

            list = staticmethod(real.list)

            @contextmanager
            def transaction(self, partition: Partition, *others: object) -> Iterator[object]:
                with real.transaction(partition, *others) as transaction:
                    if done:
                        transaction.complete = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
                    done.append(partition)
                    yield transaction

        chain.rollback = replace(
            chain.rollback, ports=replace(chain.rollback.ports, rollbacks=Mortal())
        )
        chain.roll_back("summer")


def test_a_rollback_that_is_killed_in_the_middle_is_run_again(
    chain: Chain, settings: Settings
) -> None:
    for each in FOUR:
        chain.write(each, {A: 1, B: 2}, campaign="spring")
    before = chain.everything()
    for each in FOUR:
        chain.write(each, {A: 5}, campaign="summer")
    process: multiprocessing.process.BaseProcess = PROCESSES.Process(
        target=die_in_the_transaction, args=(settings,)
    )
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    assert names(chain.roll_back("summer")) == ["AlreadyBack", *["RolledBack"] * 3]
    assert chain.everything() == before


def test_what_was_accepted_is_left(chain: Chain) -> None:
    chain.write(ONE, {A: 1}, campaign="spring")
    execute(
        chain.url,
        "INSERT INTO campaign_acceptance VALUES ('spring', clock_timestamp(), 'ana', 'good')",
    )
    assert chain.roll_back("spring") == []


def test_a_partition_whose_leaf_was_swapped_goes_back_too(
    database_url: str, tmp_path: Path
) -> None:
    settings = settings_for(database_url, tmp_path, table_layout="leaves", large_rows=1)
    with ExitStack() as stack:
        chain = Chain(settings, stack)
        chain.write(ONE, {A: 1, B: 1}, campaign="spring")
        before = chain.everything()
        chain.write(ONE, {A: 2}, campaign="summer")
        assert chain.everything() != before
        assert names(chain.roll_back("summer")) == ["RolledBack"]
        assert chain.everything() == before
        assert names(chain.roll_back("spring")) == ["RolledBack"]
        assert chain.everything() == ([], [])
