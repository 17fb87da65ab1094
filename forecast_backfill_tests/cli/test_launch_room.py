"""A disk that is too full is met before a campaign starts, not in the middle of it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from forecast_backfill.cli.launch_room import refuse_without_room
from forecast_backfill.core.errors import DiskTooFull
from forecast_backfill.core.partition import DateRange
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.plan_facts import PostgresPlanFacts
from forecast_backfill_tests.postgres.rows import PARTITION, open_session, table_of, write

TEN_DAYS = DateRange(start=PARTITION.date, end=PARTITION.date + timedelta(days=10))
ONE_DAY = DateRange(start=PARTITION.date, end=PARTITION.date + timedelta(days=1))
REGIONS = (PARTITION.region, "R08")


@pytest.fixture
def session(database: str) -> Iterator[Session]:
    """A hundred rows of one partition are done."""
    rows = [{"store_id": str(number), "product_id": "1"} for number in range(100)]
    with open_session(database) as opened:
        write(opened, table_of(rows))
        with opened.use() as connection:
            connection.execute("ANALYZE daily_demand")
        yield opened


def set_free(monkeypatch: pytest.MonkeyPatch, free: int | None) -> None:
    monkeypatch.setattr(PostgresPlanFacts, "free_bytes", lambda self: free)


def test_a_campaign_that_would_fill_the_disk_is_not_launched(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = PostgresPlanFacts(session).partition_bytes()
    assert one > 0
    set_free(monkeypatch, 2 * 19 * one - 1)
    with pytest.raises(DiskTooFull, match="free are needed") as refused:
        refuse_without_room(PostgresPlanFacts(session), TEN_DAYS, REGIONS, reprocess=False)
    assert "accept --expired" in refused.value.next_command
    set_free(monkeypatch, 2 * 19 * one)
    refuse_without_room(PostgresPlanFacts(session), TEN_DAYS, REGIONS, reprocess=False)


def test_what_is_done_needs_room_only_where_it_is_written_again(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = PostgresPlanFacts(session).partition_bytes()
    set_free(monkeypatch, 2 * one)
    refuse_without_room(PostgresPlanFacts(session), ONE_DAY, REGIONS, reprocess=False)
    with pytest.raises(DiskTooFull):
        refuse_without_room(PostgresPlanFacts(session), ONE_DAY, REGIONS, reprocess=True)


def test_a_disk_that_cannot_be_seen_from_here_is_not_judged(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_free(monkeypatch, None)
    refuse_without_room(PostgresPlanFacts(session), TEN_DAYS, REGIONS, reprocess=True)
