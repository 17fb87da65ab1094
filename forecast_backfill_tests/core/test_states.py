"""The ledger's states: only the arrows of the table exist."""

from itertools import product

import pytest

from forecast_backfill.core.states import (
    TRANSITIONS,
    OutputState,
    PartitionStatus,
    is_allowed,
    output_after,
    sources_of,
)

EXPECTED_ARROWS = {
    (None, "running"),
    ("running", "running"),
    ("done", "running"),
    ("quarantined", "running"),
    ("mismatched", "running"),
    ("failed", "running"),
    ("rolled_back", "running"),
    ("running", "done"),
    ("running", "quarantined"),
    ("running", "mismatched"),
    ("running", "failed"),
}


@pytest.mark.parametrize("arrow", list(product([None, *PartitionStatus], PartitionStatus)))
def test_only_the_listed_arrows_are_allowed(arrow):
    assert is_allowed(*arrow) is (arrow in EXPECTED_ARROWS)


def test_every_arrow_has_a_reason_fit_for_an_operator():
    assert all(len(reason.split()) > 2 for reason in TRANSITIONS.values())


def test_done_is_reached_from_running_only():
    assert sources_of(PartitionStatus.DONE) == (PartitionStatus.RUNNING,)


def test_nothing_returns_to_having_no_row():
    assert None not in {target for _, target in TRANSITIONS}


@pytest.mark.parametrize(
    ("ended", "before", "after"),
    [
        ("done", "absent", "current"),
        ("done", "stale", "current"),
        ("quarantined", "absent", "absent"),
        ("quarantined", "current", "stale"),
        ("mismatched", "current", "stale"),
        ("failed", "stale", "stale"),
        ("running", "current", "current"),
    ],
)
def test_a_bad_attempt_leaves_the_last_good_output_readable_and_stale(ended, before, after):
    assert output_after(PartitionStatus(ended), OutputState(before)) == after
