"""Knobs, slots and kill on a real database: what is asked for, what holds, who is let go."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from dataclasses import replace

import psycopg
import pytest

from forecast_backfill.core.admission import WaitCause
from forecast_backfill.core.errors import DatabaseInterrupted, EpochRaised
from forecast_backfill.core.states import Workload
from forecast_backfill.ports import RunRequest
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse import kill as kill_module
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.control import change_knobs, list_changes, read_knobs
from forecast_backfill.warehouse.kill import close_killed, kill, reopen
from forecast_backfill.warehouse.leases import PostgresSlots, list_flights
from forecast_backfill.warehouse.ledger import PostgresLedger
from forecast_backfill.warehouse.partitions import PostgresWarehouse
from forecast_backfill.warehouse.waits import PostgresWaits
from forecast_backfill.wiring.control import control_of
from forecast_backfill_tests.postgres.rows import PARTITION, REQUEST, fetch, open_session

BACKFILL, NIGHTLY = Workload.BACKFILL, Workload.NIGHTLY


def turn(session: Session, verb: str, reason: str, **knobs: object) -> None:
    with session.transaction() as connection:
        change_knobs(connection, BACKFILL, verb, reason=reason, changed_by="ana", **knobs)


def take(session: Session, stack: ExitStack, limit: int, weight: int = 1) -> tuple[int, ...] | None:
    held = PostgresSlots(session).try_acquire(limit, weight)
    return None if held is None else stack.enter_context(held)


def nightly_session(url: str) -> Session:
    return Session(url, NIGHTLY, Settings())


def test_each_turn_is_recorded_with_who_and_why(database: str) -> None:
    with open_session(database) as session:
        turn(session, "cap", "lag", cap=(1,))
        turn(session, "pause", "deploy", intent="paused")
        turn(session, "rate", "canary", rate=(500,))
        knobs = read_knobs(session, BACKFILL)
        changes = list_changes(session, BACKFILL, limit=2)
    assert (knobs.intent, knobs.cap, knobs.rate, knobs.epoch) == ("paused", 1, 500, 1)
    assert [(each.verb, each.reason, each.changed_by) for each in changes] == [
        ("rate", "canary", "ana"),
        ("pause", "deploy", "ana"),
    ]


def test_a_pause_and_a_cap_keep_their_own_reasons_whatever_is_turned_later(database: str) -> None:
    with open_session(database) as session:
        turn(session, "cap", "lag", cap=(0,))
        turn(session, "pause", "deploy", intent="paused")
        turn(session, "rate", "canary", rate=(500,))
        found = control_of(Settings(), session).conditions(BACKFILL)
    assert (found.is_paused, found.reason, found.cap_reason) == (True, "deploy (ana)", "lag (ana)")


def test_nightly_takes_slots_from_the_top_and_backfill_from_the_bottom(database: str) -> None:
    with open_session(database) as one, ExitStack() as stack:
        other = nightly_session(database)
        stack.callback(other.close)
        assert take(one, stack, limit=3) == (0,)
        assert take(other, stack, limit=4, weight=2) == (3, 2)
        assert [each.index for each in list_flights(one, NIGHTLY)] == [2, 3]
        assert [each.index for each in list_flights(one, BACKFILL)] == [0]


def test_a_weight_that_does_not_fit_takes_nothing(database: str) -> None:
    with open_session(database) as one, open_session(database) as two, ExitStack() as stack:
        assert take(one, stack, limit=3, weight=2) == (0, 1)
        assert take(two, stack, limit=3, weight=2) is None
        assert take(two, stack, limit=3, weight=1) == (2,)


def test_a_kill_that_pauses_leaves_nothing_running_until_it_is_reopened(database: str) -> None:
    with open_session(database) as session:
        killed = kill(session, BACKFILL, reason="bad transform", changed_by="ana", pauses=True)
        assert (killed.knobs.epoch, killed.knobs.intent) == (2, "paused")
        found = control_of(Settings(), session).conditions(BACKFILL)
        assert (found.is_paused, found.reason) == (True, "bad transform (ana)")
        knobs = reopen(session, BACKFILL, killed.knobs, reason="all cancelled", changed_by="ana")
        assert knobs is not None
        assert (knobs.epoch, knobs.intent) == (3, "running")


def test_a_pause_that_comes_during_a_kill_outlives_it(database: str) -> None:
    with open_session(database) as session:
        killed = kill(session, BACKFILL, reason="bad transform", changed_by="ana", pauses=True)
        turn(session, "pause", "leave it", intent="paused")
        assert reopen(session, BACKFILL, killed.knobs, reason="all", changed_by="ana") is None
        assert read_knobs(session, BACKFILL).intent == "paused"


def test_of_two_kills_at_once_the_first_does_not_open_what_the_second_closed(database: str) -> None:
    with open_session(database) as session:
        first = kill(session, BACKFILL, reason="one", changed_by="ana", pauses=True)
        second = kill(session, BACKFILL, reason="two", changed_by="bob", pauses=True)
        turn(session, "cap", "later", cap=(1,))
        assert reopen(session, BACKFILL, first.knobs, reason="all", changed_by="ana") is None
        assert reopen(session, BACKFILL, second.knobs, reason="all", changed_by="bob") is not None


def test_a_knob_is_turned_at_once_while_commits_hold_the_epoch(database: str) -> None:
    """Under load there is a commit in flight at any time: a pause must not wait for none."""
    with (
        open_session(database) as session,
        open_session(database, lock_timeout_seconds=0.2) as oncall,
        PostgresWarehouse(session).transaction(PARTITION, REQUEST) as transaction,
    ):
        transaction.hold_epoch()
        turn(oncall, "pause", "deploy", intent="paused")
        turn(oncall, "cap", "lag", cap=(0,))
        with pytest.raises(DatabaseInterrupted, match="lock timeout"):
            turn(oncall, "kill", "without the gate", epochs=1)


def test_a_nightly_task_that_waits_for_a_slot_has_one_reserved(database: str) -> None:
    nightly = RunRequest(workload=NIGHTLY, run_id="night", campaign_id=None, epoch=1)
    with open_session(database) as session:
        control = control_of(Settings(slots=4, nightly_peak=0), session)
        assert control.conditions(BACKFILL).reserved == 0
        waits = PostgresWaits(session)
        waits.add(nightly, WaitCause.CAP, reason="all taken", seconds=0.5, is_over=False)
        assert control.conditions(BACKFILL).reserved == 1
        waits.add(nightly, WaitCause.CAP, reason="all taken", seconds=0.0, is_over=True)
        assert control.conditions(BACKFILL).reserved == 0


def test_a_kill_of_backfill_leaves_nightly_alone(database: str) -> None:
    with open_session(database) as session:
        kill(session, BACKFILL, reason="test", changed_by="ana", pauses=True)
        assert read_knobs(session, NIGHTLY).epoch == 1
        assert read_knobs(session, NIGHTLY).intent == "running"


def test_a_worker_that_hangs_in_its_commit_is_ended_and_rolled_back(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kill_module, "COMMIT_PATIENCE_SECONDS", 0.2)
    with (
        open_session(database) as session,
        open_session(database) as oncall,
        pytest.raises(DatabaseInterrupted),
        PostgresWarehouse(session).transaction(PARTITION, REQUEST) as transaction,
    ):
        transaction.take_lease()
        transaction.hold_epoch()
        killed = kill(oncall, BACKFILL, reason="test", changed_by="ana")
        assert (killed.knobs.epoch, killed.ended_commits) == (2, 1)
        transaction.fingerprint()
    assert fetch(database, "SELECT count(*) FROM daily_demand") == [(0,)]


def test_a_worker_that_hangs_on_its_slot_loses_it(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kill_module, "SLOT_PATIENCE_SECONDS", 0.2)
    with open_session(database) as hung, open_session(database) as oncall, ExitStack() as stack:
        assert take(hung, stack, limit=2) == (0,)
        killed = kill(oncall, BACKFILL, reason="test", changed_by="ana")
        assert killed.ended_holders == 1
        assert list_flights(oncall, BACKFILL) == ()
        assert take(oncall, stack, limit=2) == (0,)


def test_what_a_killed_worker_left_running_is_failed_and_what_began_later_is_not(
    database: str,
) -> None:
    """A worker that was stopped, or is gone, tells nobody that its partition is over."""
    other = replace(PARTITION, region="R08")
    with open_session(database) as session:
        ledger = PostgresLedger(session)
        ledger.start(PARTITION, REQUEST)
        killed = kill(session, BACKFILL, reason="bad transform", changed_by="ana").knobs
        ledger.start(other, replace(REQUEST, epoch=killed.epoch))
        assert close_killed(session, killed, BACKFILL) == 1
        assert close_killed(session, killed, BACKFILL) == 0
    assert fetch(database, "SELECT region, status, reason FROM partition_ledger ORDER BY 1") == [
        ("R07", "failed", "killed: bad transform"),
        ("R08", "running", None),
    ]
    assert fetch(database, "SELECT count(*) FROM partition_event WHERE kind = 'failed'") == [(1,)]


def test_a_slot_that_is_let_go_in_time_costs_nobody_a_session(database: str) -> None:
    with open_session(database) as busy, open_session(database) as oncall:
        held = PostgresSlots(busy).try_acquire(2)
        assert held is not None
        held.__enter__()
        done = threading.Timer(0.3, held.__exit__, (None, None, None))
        done.start()
        killed = kill(oncall, BACKFILL, reason="test", changed_by="ana")
        done.join()
        assert (killed.ended_holders, busy.generation) == (0, 1)


def test_commits_that_queue_up_behind_a_kill_are_refused(database: str) -> None:
    """The gate is fair: whoever comes after the kill waits for it, and then sees the new epoch."""
    refused: list[str] = []

    def commit() -> None:
        with open_session(database) as late:
            try:
                with PostgresWarehouse(late).transaction(PARTITION, REQUEST) as transaction:
                    transaction.hold_epoch()
            except EpochRaised as error:
                refused.append(error.why)

    with open_session(database) as session, open_session(database) as oncall:
        with PostgresWarehouse(session).transaction(PARTITION, REQUEST) as transaction:
            transaction.hold_epoch()
            killer = threading.Thread(
                target=lambda: kill(oncall, BACKFILL, reason="test", changed_by="ana")
            )
            killer.start()
            wait_for_waiting(database, 1)
            latecomer = threading.Thread(target=commit)
            latecomer.start()
            wait_for_waiting(database, 2)
        killer.join(30)
        latecomer.join(30)
    assert refused == ["this run began in epoch 1, now it is 2"]


def wait_for_waiting(url: str, number: int) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for _ in range(3000):
            found = connection.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
            if found.fetchone() >= (number,):
                return
            connection.execute("SELECT pg_sleep(0.01)")
    raise AssertionError("nobody waits")
