"""Constraints of overlaps refuse what they are there to refuse."""

from __future__ import annotations

from typing import Any

import pytest

from forecast_backfill_tests.postgres.refusals import refusal_of

CAMPAIGN = {
    "campaign_id": "c", "number": 7, "workload": "backfill", "partitions": 1,
    "launched_at": "2026-11-02", "launched_by": "x", "reprocess": False,
}  # fmt: skip
CLAIM = {
    "date": "2026-11-01", "region": "R01", "authority": 30, "source_version": 1, "revision": 0,
    "source_digest": "s", "code_version": "v", "dimension_version": "d", "rows": 0, "checksum": 0,
    "workload": "backfill", "run_id": "r", "claimed_at": "2026-11-02",
}  # fmt: skip
LEDGER = {
    "date": "2026-11-01", "region": "R01", "status": "failed", "output": "absent", "attempt": 1,
    "workload": "nightly", "run_id": "r", "epoch": 1, "started_at": "2026-11-02",
    "finished_at": "2026-11-02", "reason": "x",
}  # fmt: skip
OTHER = CLAIM | {"region": "R02"}

CASES: list[tuple[str, str, dict[str, Any] | None, dict[str, Any]]] = [
    ("campaign_is_numbered_once", "campaign", CAMPAIGN, CAMPAIGN | {"campaign_id": "d"}),
    ("campaign_winner_is_known", "campaign", None, CAMPAIGN | {"winner": "newest"}),
    ("partition_ledger_merged_has_an_output", "partition_ledger", LEDGER,
     LEDGER | {"region": "R02", "is_merged": True}),
    ("partition_ledger_revision_is_of_a_merge", "partition_ledger", LEDGER,
     LEDGER | {"region": "R02", "output_revision": 1}),
    ("partition_claim_has_one_row_an_authority", "partition_claim", CLAIM, CLAIM),
    ("partition_claim_authority_is_known", "partition_claim", CLAIM, OTHER | {"authority": 11}),
    ("partition_claim_has_a_version", "partition_claim", CLAIM, OTHER | {"source_version": 0}),
    ("partition_claim_counts_rows", "partition_claim", CLAIM, OTHER | {"rows": -1}),
    ("partition_claim_workload_is_known", "partition_claim", CLAIM, OTHER | {"workload": "weekly"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("constraint", "table", "good", "bad"), CASES, ids=[case[0] for case in CASES]
)
def test_the_constraint_refuses(
    constraints_database: str,
    constraint: str,
    table: str,
    good: dict[str, Any] | None,
    bad: dict[str, Any],
) -> None:
    """The good row goes in (where the migration has not put it there), the bad one does not."""
    before = [] if good is None else [(table, good)]
    assert refusal_of(constraints_database, table, bad, *before) == constraint
