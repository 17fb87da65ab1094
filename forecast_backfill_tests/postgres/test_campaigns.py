"""Progress and quarantines, counted from the history."""

from __future__ import annotations

from datetime import date

from forecast_backfill.core.partition import Partition
from forecast_backfill.core.source import Fault, FaultCode, FaultReport
from forecast_backfill.core.states import Workload
from forecast_backfill.warehouse.campaigns import (
    campaign_progress,
    list_campaigns,
    register_campaign,
)
from forecast_backfill.warehouse.connect import Session
from forecast_backfill.warehouse.ledger import PostgresLedger
from forecast_backfill.warehouse.quarantines import find_quarantine, list_quarantines
from forecast_backfill_tests.postgres.rows import (
    PARTITION,
    REQUEST,
    open_session,
    request_of,
    table_of,
    write,
)

FAULT = Fault(
    code=FaultCode.NUL_BYTE, file="sales.csv", line=3, column="units", value="1\0", reason="a NUL"
)
REPORT = FaultReport(kept=(FAULT,), counts={FaultCode.NUL_BYTE: 2})


def quarantine(session: Session) -> None:
    ledger = PostgresLedger(session)
    ledger.start(PARTITION, REQUEST)
    ledger.quarantine(PARTITION, REQUEST, report=REPORT, source_digest="s1", seconds=0.1)


def register(session: Session, partitions: int) -> None:
    register_campaign(
        session,
        campaign_id="c-1",
        workload=Workload.BACKFILL,
        partitions=partitions,
        launched_by="test",
        reprocess=False,
    )


def test_the_latest_event_of_a_partition_decides_what_it_counts_as(database: str) -> None:
    other = Partition(date=date(2026, 11, 2), region="R07")
    with open_session(database) as session:
        register(session, 10)
        quarantine(session)
        write(session, table_of([{"store_id": "1", "product_id": "2"}]))
        PostgresLedger(session).start(other, REQUEST)
        progress = campaign_progress(session, "c-1")
    assert (progress.requested, progress.done, progress.quarantined) == (10, 1, 0)
    assert (progress.running, progress.left, progress.ended) == (1, 9, 1)
    assert progress.rate > 0
    assert progress.eta_seconds is not None


def test_a_campaign_launched_elsewhere_is_known_by_its_events(database: str) -> None:
    with open_session(database) as session:
        quarantine(session)
        campaign = list_campaigns(session)[0]
        progress = campaign_progress(session, None)
    assert (campaign.campaign_id, campaign.requested, campaign.launched_by) == ("c-1", None, None)
    assert (progress.requested, progress.quarantined, progress.left) == (1, 1, 0)
    assert progress.eta_seconds == 0.0


def test_over_all_a_done_partition_stays_done_whatever_another_run_says_later(
    database: str,
) -> None:
    """A backfill is refused what nightly has written, and an older run comes back too late."""
    with open_session(database) as session:
        write(session, table_of([{"store_id": "1", "product_id": "2"}]))
        ledger = PostgresLedger(session)
        ledger.refuse(PARTITION, request_of("run-2"), reason="nightly owns it")
        assert campaign_progress(session, None).done == 1
        ledger.fail(PARTITION, request_of("run-0"), reason="another run took it over")
        progress = campaign_progress(session, None)
    assert (progress.done, progress.refused, progress.failed) == (1, 0, 0)


def test_over_all_a_partition_that_was_only_refused_counts_as_refused(database: str) -> None:
    with open_session(database) as session:
        PostgresLedger(session).refuse(PARTITION, REQUEST, reason="nightly owns it")
        progress = campaign_progress(session, None)
    assert (progress.requested, progress.refused, progress.left) == (1, 1, 0)


def test_a_campaign_without_an_event_is_all_left(database: str) -> None:
    with open_session(database) as session:
        register(session, 7)
        register(session, 8)
        progress = campaign_progress(session, "c-1")
    assert (progress.requested, progress.left, progress.rate) == (8, 8, 0.0)
    assert progress.eta_seconds is None


def test_a_quarantine_keeps_every_fault_and_shows_a_nul_visibly(database: str) -> None:
    with open_session(database) as session:
        quarantine(session)
        quarantine(session)
        (found,) = list_quarantines(session, campaign_id="c-1")
    assert (found.partition, found.fault_total) == (PARTITION, 2)
    assert found.fault_counts == {FaultCode.NUL_BYTE: 2}
    assert (found.faults[0].line, found.faults[0].value) == (3, "1\\x00")


def test_writing_the_partition_closes_its_quarantine(database: str) -> None:
    with open_session(database) as session:
        quarantine(session)
        write(session, table_of([{"store_id": "1", "product_id": "2"}]))
        assert list_quarantines(session) == ()
        found = find_quarantine(session, PARTITION)
    assert found is not None
    assert found.resolved_at is not None
