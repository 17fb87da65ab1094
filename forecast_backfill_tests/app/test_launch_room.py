"""A disk that is too full is met before a campaign starts, not in the middle of it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from forecast_backfill.app.launch_room import refuse_without_room
from forecast_backfill.cli.quarantine import command as quarantine
from forecast_backfill.core.errors import DiskTooFull
from forecast_backfill.core.partition import DateRange, Partition, partitions_of
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.plan_facts import PostgresPlanFacts
from forecast_backfill_tests.app.campaigns import (
    good_lines,
    land_campaign,
    run_campaign,
    settings_for,
)
from forecast_backfill_tests.landing.hand_made import land
from forecast_backfill_tests.postgres.rows import PARTITION, open_session, table_of, write

REGIONS = (PARTITION.region, "R08")


def days(count: int) -> tuple[Partition, ...]:
    dates = DateRange(start=PARTITION.date, end=PARTITION.date + timedelta(days=count))
    return tuple(partitions_of(dates, REGIONS))


TEN_DAYS, ONE_DAY = days(10), days(1)


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
        refuse_without_room(PostgresPlanFacts(session), TEN_DAYS, rewrites=False)
    assert "accept --expired" in refused.value.next_command
    set_free(monkeypatch, 2 * 19 * one)
    refuse_without_room(PostgresPlanFacts(session), TEN_DAYS, rewrites=False)


def test_what_is_done_needs_room_only_where_it_is_written_again(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = PostgresPlanFacts(session).partition_bytes()
    set_free(monkeypatch, 2 * one)
    refuse_without_room(PostgresPlanFacts(session), ONE_DAY, rewrites=False)
    with pytest.raises(DiskTooFull):
        refuse_without_room(PostgresPlanFacts(session), ONE_DAY, rewrites=True)


def test_a_disk_that_cannot_be_seen_from_here_is_not_judged(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_free(monkeypatch, None)
    refuse_without_room(PostgresPlanFacts(session), TEN_DAYS, rewrites=True)


def test_a_retry_of_what_was_quarantined_is_not_launched_either(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_for(database, tmp_path)
    good, bad = (Partition(date=settings.first_date, region=region) for region in ("R01", "R02"))
    land_campaign(tmp_path, [good, bad])
    land(settings.landing_directory, bad, good_lines(bad, quantity="two"))
    run_campaign(settings, [good, bad])
    for name in ("home", "database_url", "first_date", "as_of", "seam"):
        monkeypatch.setenv(f"FORECAST_BACKFILL_{name.upper()}", str(getattr(settings, name)))
    set_free(monkeypatch, 1)
    refused = CliRunner().invoke(quarantine, ["retry", "--all"], standalone_mode=False)
    assert isinstance(refused.exception, DiskTooFull)
    assert "free are needed for 1 partitions" in refused.exception.why
