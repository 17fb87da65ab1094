"""Constraints of what is kept for rollbacks refuse what they are there to refuse."""

from __future__ import annotations

from typing import Any

import pytest

from forecast_backfill_tests.postgres.refusals import refusal_of

KEPT = {
    "campaign_id": "c", "date": "2026-11-01", "region": "R01", "workload": "backfill",
    "run_id": "r", "superseded_at": "2026-11-02", "output": "current", "record": "{}",
    "claims": "[]", "is_kept": True, "kept_rows": 2,
}  # fmt: skip
ACCEPTED = {"campaign_id": "c", "accepted_at": "2026-11-02", "accepted_by": "ana", "reason": "x"}

CASES: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("superseded_partition_has_one_row_a_campaign", "superseded_partition", KEPT, {}),
    ("superseded_partition_workload_is_known", "superseded_partition", KEPT,
     {"workload": "weekly"}),
    ("superseded_partition_output_is_known", "superseded_partition", KEPT, {"output": "good"}),
    ("superseded_partition_record_is_readable", "superseded_partition", KEPT, {"claims": "{}"}),
    ("superseded_partition_counts_kept_rows", "superseded_partition", KEPT, {"output": "absent"}),
    ("campaign_acceptance_is_given_once", "campaign_acceptance", ACCEPTED, {}),
    ("campaign_acceptance_is_explained", "campaign_acceptance", ACCEPTED, {"reason": " "}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("constraint", "table", "good", "change"), CASES, ids=[case[0] for case in CASES]
)
def test_the_constraint_refuses(
    constraints_database: str,
    constraint: str,
    table: str,
    good: dict[str, Any],
    change: dict[str, Any],
) -> None:
    """The good row goes in; one that differs in `change` (and in its key) does not."""
    other = {"campaign_id": "d"} if change else {}
    bad = good | other | change
    assert refusal_of(constraints_database, table, bad, (table, good)) == constraint
