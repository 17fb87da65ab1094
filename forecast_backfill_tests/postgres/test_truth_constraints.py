"""The rows that the truth's tables refuse."""

from __future__ import annotations

from typing import Any

import pytest

from forecast_backfill_tests.postgres.refusals import refusal_of, refusal_of_change

REMOVED = {"repair_id": "r", "table_name": "public.copy", "row_content": "{}"}
PROOF = {"date": "2026-11-01", "region": "R01", "is_same": True, "rows": 1, "proved_by": "x"}

CASES: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("duplicate_removed_is_numbered", "duplicate_removed", REMOVED, {"removed_id": 1}),
    ("duplicate_removed_keeps_a_row", "duplicate_removed", REMOVED, {"row_content": "[]"}),
    ("recompute_proof_is_numbered", "recompute_proof", PROOF, {"proof_id": 1}),
    ("recompute_proof_counts_rows", "recompute_proof", PROOF, {"rows": -1}),
    ("recompute_proof_difference_has_a_reason", "recompute_proof", PROOF, {"is_same": False}),
]


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
    """The good row goes in; one that differs in `change` does not."""
    assert refusal_of(constraints_database, table, good | change, (table, good)) == constraint


@pytest.mark.parametrize(
    ("table", "row"), [("duplicate_removed", REMOVED), ("recompute_proof", PROOF)]
)
@pytest.mark.parametrize("change", ["DELETE FROM {}", "TRUNCATE {}", "UPDATE {} SET {} = {}"])
def test_what_was_recorded_cannot_be_changed(
    constraints_database: str, table: str, row: dict[str, Any], change: str
) -> None:
    column = next(iter(row))
    statement = change.format(*([table, column, column] if "SET" in change else [table]))
    refused = refusal_of_change(constraints_database, statement, (table, row))
    assert refused == f"{table}_is_append_only"
