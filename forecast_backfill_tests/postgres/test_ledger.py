"""The ledger moves along the arrows of core/states.py and along no other."""

from __future__ import annotations

from itertools import product

import psycopg
import pytest

from forecast_backfill.core.errors import TransitionRefused
from forecast_backfill.core.fingerprint import Fingerprint
from forecast_backfill.core.parity import Mismatch, MismatchKind
from forecast_backfill.core.source import Fault, FaultCode, FaultReport
from forecast_backfill.core.states import TRANSITIONS, OutputState, PartitionStatus
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.ledger import PostgresLedger
from forecast_backfill.warehouse.partitions import PostgresWarehouse
from forecast_backfill_tests.postgres.rows import (
    PARTITION,
    REQUEST,
    completion_of,
    fetch,
    open_session,
    request_of,
    table_of,
    write,
)

REPORT = FaultReport(
    kept=(Fault(code=FaultCode.FILE_MISSING, file="sales.csv", reason="no file"),),
    counts={FaultCode.FILE_MISSING: 1},
)
EMPTY = Fingerprint(rows=0, checksum=0, units=0, revenue_cents=0, stores=0, products=0)
MISMATCH = Mismatch(kind=MismatchKind.EXTRA_ROWS, read=EMPTY, stored=EMPTY, reason="x")
ROWS = [{"store_id": "1", "product_id": "2"}]
ATTEMPTS = [status for status in PartitionStatus if status is not PartitionStatus.ROLLED_BACK]
"""Where an attempt can move; a rollback is none, and has a table of its own (ROLLBACKS)."""
ENDS = [status for status in ATTEMPTS if status is not PartitionStatus.RUNNING]


def move(session: Session, target: PartitionStatus) -> None:
    """Ask the ledger for one arrow, with the run id that every move here has."""
    ledger = PostgresLedger(session)
    match target:
        case PartitionStatus.RUNNING:
            ledger.start(PARTITION, REQUEST)
        case PartitionStatus.DONE:
            with PostgresWarehouse(session).transaction(PARTITION, REQUEST) as transaction:
                transaction.complete(completion_of(table_of(ROWS)))
        case PartitionStatus.QUARANTINED:
            ledger.quarantine(PARTITION, REQUEST, report=REPORT, source_digest="s", seconds=0.1)
        case PartitionStatus.MISMATCHED:
            ledger.mismatch(PARTITION, REQUEST, mismatch=MISMATCH, seconds=0.1)
        case PartitionStatus.FAILED:
            ledger.fail(PARTITION, REQUEST, reason="broken")
        case PartitionStatus.ROLLED_BACK:
            with session.use() as connection:
                connection.execute(
                    "UPDATE partition_ledger"
                    " SET status = 'rolled_back', reason = 'x', finished_at = now()"
                )


def status_of(session: Session) -> PartitionStatus | None:
    row = PostgresLedger(session).find(PARTITION)
    return None if row is None else row.status


@pytest.mark.parametrize(("source", "target"), list(product([None, *PartitionStatus], ATTEMPTS)))
def test_exactly_the_arrows_of_the_table_can_be_taken(
    database: str, source: PartitionStatus | None, target: PartitionStatus
) -> None:
    with open_session(database) as session:
        if source is not None:
            move(session, PartitionStatus.RUNNING)
            if source is not PartitionStatus.RUNNING:
                move(session, source)
        if (source, target) in TRANSITIONS:
            move(session, target)
            assert status_of(session) is target
        elif target is PartitionStatus.FAILED:
            move(session, target)
            assert status_of(session) is source
        else:
            with pytest.raises(TransitionRefused):
                move(session, target)
            assert status_of(session) is source


@pytest.mark.parametrize("target", ENDS)
def test_a_run_that_was_taken_over_cannot_end_the_attempt_of_the_other(
    database: str, target: PartitionStatus
) -> None:
    with open_session(database) as session:
        move(session, PartitionStatus.RUNNING)
        PostgresLedger(session).start(PARTITION, request_of("run-2"))
        if target is PartitionStatus.FAILED:
            move(session, target)
        else:
            with pytest.raises(TransitionRefused, match="another run took it over"):
                move(session, target)
        assert status_of(session) is PartitionStatus.RUNNING


def test_a_refused_source_leaves_the_last_good_output_stale(database: str) -> None:
    with open_session(database) as session:
        write(session, table_of(ROWS))
        move(session, PartitionStatus.RUNNING)
        move(session, PartitionStatus.QUARANTINED)
        row = PostgresLedger(session).find(PARTITION)
    assert row is not None
    assert (row.output, row.attempt) == (OutputState.STALE, 2)
    assert row.fingerprint is not None
    assert row.fingerprint.rows == 1
    assert fetch(database, "SELECT count(*) FROM daily_demand") == [(1,)]


def test_every_move_leaves_its_event(database: str) -> None:
    with open_session(database) as session:
        ledger = PostgresLedger(session)
        write(session, table_of(ROWS))
        ledger.unchanged(PARTITION, REQUEST)
        ledger.refuse(PARTITION, REQUEST, reason="not yours")
        for target in (PartitionStatus.QUARANTINED, PartitionStatus.MISMATCHED):
            move(session, PartitionStatus.RUNNING)
            move(session, target)
        move(session, PartitionStatus.FAILED)
    kinds = fetch(database, "SELECT kind FROM partition_event ORDER BY event_id")
    assert [kind for (kind,) in kinds] == [
        *("started", "written", "unchanged", "refused"),
        *("started", "quarantined", "started", "mismatched", "failed"),
    ]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE partition_event SET kind = 'failed'",
        "DELETE FROM partition_event",
        "TRUNCATE partition_event",
    ],
)
def test_history_cannot_be_changed(database: str, statement: str) -> None:
    with open_session(database) as session:
        PostgresLedger(session).unchanged(PARTITION, REQUEST)
        with (
            pytest.raises(psycopg.errors.IntegrityConstraintViolation) as refused,
            session.use() as connection,
        ):
            connection.execute(statement.encode())
    assert refused.value.diag.constraint_name == "partition_event_is_append_only"
