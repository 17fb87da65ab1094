"""Constraints of the knobs, their history and the waits refuse what they are there to refuse."""

from __future__ import annotations

from typing import Any

import pytest

from forecast_backfill_tests.postgres.refusals import refusal_of, refusal_of_change

CONTROL = {
    "workload": "nightly", "epoch": 1, "intent": "running", "reason": "x", "changed_by": "x",
    "changed_at": "2026-11-02",
}  # fmt: skip
CHANGE = {
    "change_id": 77, "workload": "backfill", "verb": "pause", "epoch": 1, "intent": "paused",
    "reason": "x", "changed_by": "x",
}  # fmt: skip
WAIT = {"run_id": "r", "cause": "cap", "workload": "backfill", "reason": "x", "seconds": 1.0}

CASES: list[tuple[str, str, dict[str, Any] | None, dict[str, Any]]] = [
    ("workload_control_rate_is_positive", "workload_control", None, CONTROL | {"rate": 0}),
    ("workload_control_change_is_explained", "workload_control", None, CONTROL | {"reason": " "}),
    ("workload_change_is_numbered", "workload_change", CHANGE, CHANGE),
    ("workload_change_workload_is_known", "workload_change", CHANGE,
     CHANGE | {"change_id": 78, "workload": "weekly"}),
    ("workload_change_verb_is_known", "workload_change", CHANGE,
     CHANGE | {"change_id": 78, "verb": "stop"}),
    ("workload_wait_has_one_row_a_run_and_cause", "workload_wait", WAIT, WAIT),
    ("workload_wait_cause_is_known", "workload_wait", WAIT, WAIT | {"cause": "weather"}),
    ("workload_wait_workload_is_known", "workload_wait", WAIT,
     WAIT | {"run_id": "s", "workload": "weekly"}),
    ("workload_wait_is_not_negative", "workload_wait", WAIT,
     WAIT | {"run_id": "s", "seconds": -1.0}),
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


def test_the_history_of_the_knobs_cannot_be_rewritten(constraints_database: str) -> None:
    update, before = "UPDATE workload_change SET reason = 'y'", ("workload_change", CHANGE)
    refused = refusal_of_change(constraints_database, update, before)
    assert refused == "workload_change_is_append_only"
