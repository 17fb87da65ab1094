"""Two writers, kills and lost connections: a partition is never mixed, doubled or lost."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from forecast_backfill.core.errors import (
    DatabaseInterrupted,
    DatabaseUnavailable,
    EpochRaised,
    PartitionLeased,
    TransitionRefused,
)
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import Workload
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.connect import Session, connect_plainly
from forecast_backfill.warehouse.kill import kill
from forecast_backfill.warehouse.leases import PostgresSlots
from forecast_backfill.warehouse.ledger import PostgresLedger
from forecast_backfill.warehouse.partitions import PostgresWarehouse, application_name, lease_key
from forecast_backfill_tests.postgres.rows import (
    PARTITION,
    REQUEST,
    VERSION,
    fetch,
    open_session,
    request_of,
    table_of,
    write,
)

OLD = table_of([{"store_id": str(n), "product_id": "1", "units": 1} for n in range(50)])
EPOCH = "SELECT epoch FROM workload_control WHERE workload = 'backfill'"
NEW = table_of([{"store_id": str(n), "product_id": "1", "units": 2} for n in range(60)])


def waiting(url: str) -> int:
    """How many connections wait for an advisory or row lock."""
    return int(fetch(url, "SELECT count(*) FROM pg_locks WHERE NOT granted")[0][0])


def wait_for(url: str, number: int) -> None:
    deadline = time.monotonic() + 30
    while waiting(url) < number:
        assert time.monotonic() < deadline, "nobody waits"
        time.sleep(0.01)


def test_two_replacers_at_once_leave_the_rows_of_one(database: str) -> None:
    """Twenty rounds; each run may also be refused because the other took the partition over."""

    def replacer(name: str) -> None:
        table = OLD if name == "old" else NEW
        with open_session(database) as session:
            for number in range(20):
                try:
                    write(session, table, request_of(f"{name}-{number}"))
                except TransitionRefused:
                    continue

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(replacer, ["old", "new"]))
    found = fetch(database, "SELECT count(*), min(units), max(units) FROM daily_demand")
    assert found in ([(50, 1, 1)], [(60, 2, 2)])
    assert fetch(database, "SELECT output_rows FROM partition_ledger") == [(found[0][0],)]


def test_the_same_rows_written_twice_are_the_same_bytes(database: str) -> None:
    everything = "SELECT d::text FROM daily_demand d ORDER BY 1"
    with open_session(database) as session:
        write(session, OLD)
        first = fetch(database, everything)
        assert write(session, OLD) == 50
    assert fetch(database, everything) == first


def test_an_epoch_raised_before_the_commit_refuses_it(database: str) -> None:
    with open_session(database) as session, open_session(database) as oncall:
        PostgresLedger(session).start(PARTITION, REQUEST)
        with (
            pytest.raises(EpochRaised, match="epoch 1, now it is 2"),
            PostgresWarehouse(session).transaction(PARTITION, REQUEST) as transaction,
        ):
            transaction.take_lease()
            kill(oncall, Workload.BACKFILL, reason="test", changed_by="test")
            transaction.hold_epoch()


def test_a_kill_waits_for_the_commit_in_flight(database: str) -> None:
    with open_session(database) as session, open_session(database) as oncall:
        PostgresLedger(session).start(PARTITION, REQUEST)
        with PostgresWarehouse(session).transaction(PARTITION, REQUEST) as transaction:
            transaction.take_lease()
            transaction.hold_epoch()
            killer = threading.Thread(
                target=kill,
                args=(oncall, Workload.BACKFILL),
                kwargs={"reason": "test", "changed_by": "test"},
            )
            killer.start()
            wait_for(database, 1)
            transaction.replace(OLD, VERSION)
            assert killer.is_alive()
        killer.join(30)
    assert fetch(database, EPOCH) == [(2,)]
    assert fetch(database, "SELECT count(*) FROM daily_demand") == [(50,)]


def test_a_lease_that_stays_taken_ends_in_partition_leased(database: str) -> None:
    with open_session(database) as holder, open_session(database, lock_timeout_seconds=0.1) as late:
        with PostgresWarehouse(holder).transaction(PARTITION, REQUEST) as transaction:
            transaction.take_lease()
            with (
                pytest.raises(PartitionLeased, match="2026-11-01 R07"),
                PostgresWarehouse(late).transaction(PARTITION, REQUEST) as second,
            ):
                second.take_lease()
        with PostgresWarehouse(late).transaction(PARTITION, REQUEST) as second:
            second.take_lease()


def test_a_killed_workers_transaction_is_gone_before_the_retry_gets_the_lease(
    database: str,
) -> None:
    """The worker dies by SIGKILL while its SQL runs under the lease; the retry then writes."""
    key = lease_key(PARTITION)
    code = f"""
import psycopg
c = psycopg.connect({database!r}, options="-c search_path=forecast_backfill "
    "-c client_connection_check_interval=100")
c.execute("SELECT pg_advisory_xact_lock({key})")
c.execute("DELETE FROM daily_demand")
print("ready", flush=True)
c.execute("SELECT pg_sleep(60)")
"""
    with open_session(database) as session:
        write(session, OLD)
        worker = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        assert worker.stdout is not None
        with worker.stdout:
            assert worker.stdout.readline() == b"ready\n"
        with ThreadPoolExecutor(1) as pool:
            retry = pool.submit(write, session, NEW, request_of("run-2"))
            wait_for(database, 1)
            worker.send_signal(signal.SIGKILL)
            worker.wait()
            assert retry.result(timeout=30) == 50
    assert fetch(database, "SELECT count(*), min(units) FROM daily_demand") == [(60, 2)]


def test_a_slot_is_free_again_when_its_process_is_killed(database: str) -> None:
    code = f"""
import time
from forecast_backfill.core.states import Workload
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.leases import PostgresSlots
with PostgresSlots(Session({database!r}, Workload.BACKFILL, Settings())).try_acquire(1) as taken:
    print(*taken, flush=True)
    time.sleep(60)
"""
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    with holder.stdout:
        assert holder.stdout.readline() == b"0\n"
    with open_session(database) as session:
        slots = PostgresSlots(session)
        assert slots.try_acquire(1) is None
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        deadline = time.monotonic() + 30
        while (slot := slots.try_acquire(1)) is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        with slot as taken:
            assert taken == (0,)


def test_a_slot_is_freed_at_the_end_of_its_block(database: str) -> None:
    with open_session(database) as one, open_session(database) as two:
        slot = PostgresSlots(one).try_acquire(1)
        assert slot is not None
        with slot:
            assert PostgresSlots(two).try_acquire(1) is None
        assert PostgresSlots(two).try_acquire(1) is not None
        assert PostgresSlots(one).try_acquire(0) is None


def test_a_lost_connection_is_an_interruption_and_the_next_use_opens_another(
    database: str,
) -> None:
    with open_session(database) as session:
        with session.use() as connection:
            pid = connection.info.backend_pid
        with connect_plainly(database) as other:
            other.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))
        with pytest.raises(DatabaseInterrupted):
            PostgresLedger(session).find(PARTITION)
        assert PostgresLedger(session).find(PARTITION) is None
        assert session.generation == 2


def test_a_statement_that_takes_too_long_is_an_interruption(database: str) -> None:
    with (
        open_session(database, statement_timeout_seconds=0.05) as session,
        pytest.raises(DatabaseInterrupted, match="statement timeout"),
        session.use() as connection,
    ):
        connection.execute("SELECT pg_sleep(5)")


def test_an_unreachable_database_names_the_setting_and_hides_the_password() -> None:
    session = Session("postgresql://u:secret@127.0.0.1:1/x", Workload.NIGHTLY, Settings())
    with pytest.raises(DatabaseUnavailable, match="FORECAST_BACKFILL_DATABASE_URL") as refused:
        PostgresLedger(session).find(PARTITION)
    assert "secret" not in str(refused.value)


def test_a_connection_carries_its_limits_run_and_partition(database: str) -> None:
    longest = Partition(date=PARTITION.date, region="R" * 16)
    assert len(application_name(longest, "0" * 36)) == 62
    with open_session(database, lock_timeout_seconds=7) as session:
        with PostgresWarehouse(session).transaction(PARTITION, REQUEST) as transaction:
            transaction.take_lease()
            names = fetch(database, "SELECT application_name FROM pg_stat_activity")
            assert ("run-1 20261101 R07",) in names
        with session.use() as connection:
            row = connection.execute(
                "SELECT current_setting('lock_timeout') AS lock, current_setting('timezone') AS "
                "zone, current_setting('client_connection_check_interval') AS check"
            ).fetchone()
    assert row == {"lock": "7s", "zone": "UTC", "check": "1s"}


def test_psycopg_errors_that_are_bugs_are_not_interruptions(database: str) -> None:
    with (
        open_session(database) as session,
        pytest.raises(psycopg.errors.UndefinedTable),
        session.use() as connection,
    ):
        connection.execute("SELECT 1 FROM nowhere")


def test_a_session_told_to_stop_inside_a_statement_can_be_used_at_once(database: str) -> None:
    """Dagster cancels a run by an exception out of a signal handler, wherever the run is."""

    class ToldToStop(BaseException):
        pass

    def stop(*_: object) -> None:
        raise ToldToStop

    previous = signal.signal(signal.SIGALRM, stop)
    try:
        with open_session(database) as session:
            PostgresLedger(session).start(PARTITION, REQUEST)
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with pytest.raises(ToldToStop), session.transaction() as connection:
                connection.execute("SELECT * FROM partition_ledger FOR UPDATE")
                connection.execute("SELECT pg_sleep(60)")
            began = time.monotonic()
            PostgresLedger(session).fail(PARTITION, REQUEST, reason="stopped")
            assert time.monotonic() - began < 20
    finally:
        signal.signal(signal.SIGALRM, previous)
    assert fetch(database, "SELECT status FROM partition_ledger") == [("failed",)]
