"""Whether a partition may go back, and to which state."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from forecast_backfill.core.fingerprint import Fingerprint
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.rollback import (
    NO_ROWS,
    AlreadyBack,
    Kept,
    Left,
    NotRolledBack,
    PutBack,
    Stands,
    judge_rollback,
    reason_of_rollback,
)
from forecast_backfill.core.states import (
    ROLLBACKS,
    OutputState,
    PartitionStatus,
    after_rollback,
)

PARTITION = Partition(date=date(2026, 11, 1), region="R07")
TEN = Fingerprint(rows=10, checksum=7, units=9, revenue_cents=100, stores=2, products=3)
KEPT = Kept(
    output=OutputState.CURRENT, fingerprint=TEN, has_rows=True, is_back=False, is_accepted=False
)
STANDS = Stands(
    status=PartitionStatus.DONE, writer="spring", rows=12, run_id="r", is_epoch_over=False
)


def judge(kept: Kept | None = KEPT, stands: Stands | None = STANDS) -> object:
    return judge_rollback(PARTITION, "spring", kept, stands)


def reason(verdict: object) -> str:
    assert isinstance(verdict, Left)
    return verdict.reason


def test_what_the_campaign_wrote_last_goes_back() -> None:
    assert judge() == PutBack(status=PartitionStatus.DONE, output=OutputState.CURRENT)


def test_what_went_back_before_is_left_alone() -> None:
    assert judge(replace(KEPT, is_back=True)) == AlreadyBack(partition=PARTITION)


@pytest.mark.parametrize("kept", [None, replace(KEPT, is_accepted=True)])
def test_without_anything_kept_nothing_goes_back(kept: Kept | None) -> None:
    assert reason(judge(kept)) == (
        "nothing is kept of spring here: it was accepted, or changed nothing"
    )


@pytest.mark.parametrize(
    ("stands", "why"),
    [
        (replace(STANDS, writer="summer"), "summer has written it since"),
        (replace(STANDS, writer=None), "somebody who was not recorded has written it since"),
        (None, "somebody who was not recorded has written it since"),
    ],
)
def test_what_somebody_else_wrote_since_is_left(stands: Stands | None, why: str) -> None:
    assert reason(judge(KEPT, stands)) == why


def test_what_a_campaign_moved_out_of_the_lakehouse_is_left() -> None:
    assert reason(judge(replace(KEPT, is_elsewhere=True))) == (
        "before spring its rows lay in the lakehouse, out of a rollback's reach"
    )


def test_an_attempt_that_may_still_commit_keeps_its_partition() -> None:
    running = replace(STANDS, status=PartitionStatus.RUNNING)
    assert reason(judge(KEPT, running)) == "run r is at work on it"
    assert isinstance(judge(KEPT, replace(running, is_epoch_over=True)), PutBack)


@pytest.mark.parametrize(
    ("status", "earlier", "after"),
    [
        ("done", "current", ("done", "current")),
        ("done", "stale", ("rolled_back", "stale")),
        ("done", "absent", ("rolled_back", "absent")),
        ("running", "current", ("done", "current")),
        ("rolled_back", "absent", ("rolled_back", "absent")),
        ("quarantined", "current", ("quarantined", "stale")),
        ("mismatched", "stale", ("mismatched", "stale")),
        ("failed", "absent", ("failed", "absent")),
    ],
)
def test_a_refused_source_stays_refused(status: str, earlier: str, after: tuple[str, str]) -> None:
    assert after_rollback(PartitionStatus(status), OutputState(earlier)) == after


def test_every_status_may_be_rolled_back_for_a_reason() -> None:
    assert set(ROLLBACKS) == set(PartitionStatus)
    assert all(len(each.split()) > 2 for each in ROLLBACKS.values())


def test_an_absent_output_is_expected_to_have_no_row() -> None:
    absent = replace(KEPT, output=OutputState.ABSENT, fingerprint=None)
    assert (absent.expected, KEPT.expected) == (NO_ROWS, TEN)


def test_an_output_without_its_fingerprint_is_a_contradiction() -> None:
    with pytest.raises(ValueError, match="current with None"):
        replace(KEPT, fingerprint=None)


def test_why_a_partition_was_not_put_back_is_one_line() -> None:
    left = Left(partition=PARTITION, reason="x", next_command="y")
    assert reason_of_rollback(left) == "x. Next: y"
    assert reason_of_rollback(NotRolledBack(partition=PARTITION, reason="z")) == "z"
