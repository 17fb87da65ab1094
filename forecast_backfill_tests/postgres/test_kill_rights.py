"""Kill by a role that may not end the sessions it finds: what it says, and what holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import psycopg
import pytest
from psycopg import conninfo

from forecast_backfill.core.errors import DatabaseUnavailable, KillIncomplete
from forecast_backfill.core.states import Workload
from forecast_backfill.warehouse import kill as kill_module
from forecast_backfill.warehouse.control import change_knobs, read_knobs
from forecast_backfill.warehouse.kill import kill
from forecast_backfill.warehouse.leases import PostgresSlots
from forecast_backfill.warehouse.partitions import PostgresWarehouse
from forecast_backfill_tests.postgres.rows import PARTITION, REQUEST, open_session

ROLE = "oncall_without_rights"
GRANTS = f"""
    CREATE ROLE {ROLE} LOGIN;
    GRANT USAGE ON SCHEMA forecast_backfill TO {ROLE};
    GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA forecast_backfill TO {ROLE};
    GRANT USAGE ON ALL SEQUENCES IN SCHEMA forecast_backfill TO {ROLE};
"""


@pytest.fixture
def oncall(database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The database as a role sees it that may turn knobs, and no more."""
    monkeypatch.setattr(kill_module, "COMMIT_PATIENCE_SECONDS", 0.1)
    monkeypatch.setattr(kill_module, "SLOT_PATIENCE_SECONDS", 0.1)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(GRANTS)
        try:
            yield conninfo.make_conninfo(database, user=ROLE)
        finally:
            connection.execute(f"DROP OWNED BY {ROLE}; DROP ROLE {ROLE}")


def test_a_holder_that_may_not_be_ended_is_named_and_the_epoch_is_raised(
    database: str, oncall: str
) -> None:
    with open_session(database) as worker, open_session(oncall) as session, ExitStack() as stack:
        held = PostgresSlots(worker).try_acquire(2)
        assert held is not None
        stack.enter_context(held)
        killed = kill(session, Workload.BACKFILL, reason="test", changed_by="ana", pauses=True)
        (unended,) = killed.unended
    assert (killed.knobs.epoch, killed.ended_holders) == (2, 0)
    assert unended.as_text.startswith(f"session {unended.pid} of role ")
    assert "permission denied to terminate process" in unended.why
    assert unended.next_command == f"as a superuser: SELECT pg_terminate_backend({unended.pid})"


def test_a_commit_that_may_not_be_ended_refuses_the_kill_and_leaves_a_pause(
    database: str, oncall: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kill_module, "_ATTEMPTS", 2)
    with (
        open_session(database) as worker,
        open_session(oncall) as session,
        PostgresWarehouse(worker).transaction(PARTITION, REQUEST) as transaction,
    ):
        transaction.hold_epoch()
        with pytest.raises(KillIncomplete, match="is not done: backfill is paused") as refused:
            kill(session, Workload.BACKFILL, reason="test", changed_by="ana", pauses=True)
        knobs = read_knobs(session, Workload.BACKFILL)
    assert "permission denied to terminate process" in refused.value.why
    assert refused.value.next_command.startswith("as a superuser: SELECT pg_terminate_backend(")
    assert (knobs.epoch, knobs.intent) == (1, "paused")


def test_a_role_that_may_turn_no_knob_is_told_which_right_it_needs(
    database: str, oncall: str
) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            f"REVOKE UPDATE ON forecast_backfill.workload_control FROM {ROLE}"  # type: ignore[arg-type]
        )
    with (
        open_session(oncall) as session,
        pytest.raises(DatabaseUnavailable) as refused,
        session.transaction() as knobs,
    ):
        change_knobs(knobs, Workload.BACKFILL, "pause", reason="test", changed_by="ana")
    assert refused.value.what == f"role {ROLE} may not turn the knobs of backfill"
    assert refused.value.next_command.startswith("as the tables' owner: GRANT SELECT, UPDATE ON")
