"""Launching and following a campaign, without a webserver."""

from __future__ import annotations

import getpass
import os
from dataclasses import replace

import psycopg
import pytest
from click.testing import CliRunner

from forecast_backfill.app.campaign import (
    BackfillProgress,
    BackfillState,
    LaunchPlan,
    PartitionSpan,
)
from forecast_backfill.cli import launching
from forecast_backfill.cli.backfill import command as backfill
from forecast_backfill.cli.launching import Launchpad
from forecast_backfill.core.errors import DagsterUnreachable
from forecast_backfill.core.version import Winner
from forecast_backfill.warehouse.campaigns import list_campaigns
from forecast_backfill.warehouse.ledger import PostgresLedger
from forecast_backfill_tests.postgres.rows import (
    PARTITION,
    REQUEST,
    open_session,
    table_of,
    write,
)

PLAN = LaunchPlan(spans=(PartitionSpan(first=PARTITION, last=PARTITION),), partitions=1, title="t")


class Orchestrator:
    """Takes every launch as campaign c-1; asks `before_answer` each time it is asked."""

    def __init__(self, before_answer=lambda: None):
        self.before_answer = before_answer

    def launch(self, spans, *, tags, title):
        return "c-1"

    def progress(self, backfill_id):
        self.before_answer()
        return BackfillProgress(
            state=BackfillState.ACTIVE, status="REQUESTED", partitions=1, error=None
        )


def test_a_user_without_a_name_can_launch(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container may run under a number that no password file knows."""

    def nameless() -> str:
        raise KeyError("getpwuid(): uid not found: 12345")

    monkeypatch.setattr(getpass, "getuser", nameless)
    with open_session(database) as session:
        pad = Launchpad(client=Orchestrator(), session=session)
        assert pad.launch(PLAN, reprocess=False) == "c-1"
        (campaign,) = list_campaigns(session)
    assert campaign.launched_by == f"uid {os.getuid()}"


def test_an_overlap_is_launched_with_its_tags_and_recorded_with_its_winner(database: str) -> None:
    class Remembering(Orchestrator):
        tags: dict = {}  # noqa: RUF012 — one launch only

        def launch(self, spans, *, tags, title):
            self.tags.update(tags)
            return "c-1"

    with open_session(database) as session:
        client = Remembering()
        pad = Launchpad(client=client, session=session)
        pad.launch(replace(PLAN, winner=Winner.CORRECTION), reprocess=False)
        (campaign,) = list_campaigns(session)
    assert client.tags["forecast_backfill/overlap"] == "true"
    assert client.tags["forecast_backfill/winner"] == "correction"
    assert campaign.winner is Winner.CORRECTION


def test_a_winner_without_an_overlap_is_refused_as_usage() -> None:
    asked = ["--from", "2026-03-01", "--to", "2026-03-02", "--winner", "correction"]
    result = CliRunner().invoke(backfill, asked)
    assert result.exit_code == 2
    assert "--winner is for a campaign with --overlap" in result.output


def test_watching_goes_on_through_a_restart_of_the_database(database: str) -> None:
    """Every connection is ended while the campaign is watched; it ends good all the same."""

    def restart() -> None:
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    with open_session(database) as session:
        pad = Launchpad(client=Orchestrator(restart), session=session)
        pad.launch(PLAN, reprocess=False)
        PostgresLedger(session).find(PARTITION)
        write(session, table_of([{"store_id": "1", "product_id": "2"}]), REQUEST)
        ended = pad.follow("c-1", quiet=True)
    assert ended.is_good


def test_watching_waits_for_a_webserver_that_is_away_for_a_moment(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launching, "POLL_SECONDS", 0.01)
    answers = iter([False, False, True])

    def sometimes_away() -> None:
        if not next(answers):
            raise DagsterUnreachable("no webserver", why="test", next_command="none")

    with open_session(database) as session:
        pad = Launchpad(client=Orchestrator(sometimes_away), session=session)
        pad.launch(PLAN, reprocess=False)
        write(session, table_of([{"store_id": "1", "product_id": "2"}]), REQUEST)
        assert pad.follow("c-1", quiet=True).is_good


def test_watching_gives_up_a_webserver_that_stays_away(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launching, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(launching, "RETRY_SECONDS", 0.05)

    def away() -> None:
        raise DagsterUnreachable("no webserver", why="test", next_command="none")

    with open_session(database) as session:
        pad = Launchpad(client=Orchestrator(away), session=session)
        pad.launch(PLAN, reprocess=False)
        with pytest.raises(DagsterUnreachable, match="no webserver"):
            pad.follow("c-1", quiet=True)
