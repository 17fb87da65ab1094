"""Constraints of shadows and their records refuse what they are there to refuse."""

from __future__ import annotations

from typing import Any

import pytest

from forecast_backfill_tests.postgres.refusals import refusal_of, refusal_of_change

PARENT = {"shadow_id": 1, "state": "dropped", "definition": "{}"}
SHADOW = {"shadow_id": 3, "state": "building", "definition": "{}"}
PARTITION = {
    "shadow_id": 1, "date": "2026-11-01", "region": "R01", "status": "equal", "rows": 2,
    "data_version": "x", "run_id": "r",
}  # fmt: skip
LEFT_OUT = {
    "shadow_id": 1, "date": "2026-11-01", "region": "R01", "reason": "x", "left_out_by": "ana",
}  # fmt: skip
EVENT = {
    "event_id": 1, "shadow_id": 1, "step": "start", "state": "building", "done_by": "ana",
    "reason": "x",
}  # fmt: skip
OTHER = {"region": "R02"}

CASES: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("shadow_is_numbered", "shadow", SHADOW, {"state": "dropped"}),
    ("shadow_number_is_positive", "shadow", SHADOW, {"shadow_id": 0, "state": "dropped"}),
    ("shadow_state_is_known", "shadow", SHADOW, {"shadow_id": 4, "state": "ready"}),
    ("shadow_comes_after_the_earlier", "shadow", SHADOW,
     {"shadow_id": 4, "state": "dropped", "earlier": 4}),
    ("shadow_is_under_way_once", "shadow", SHADOW, {"shadow_id": 4, "state": "reverted"}),
    ("shadow_is_read_once", "shadow", SHADOW | {"state": "adopted"},
     {"shadow_id": 4, "state": "swapped"}),
    ("shadow_partition_has_one_row_a_partition", "shadow_partition", PARTITION, {}),
    ("shadow_partition_is_of_a_shadow", "shadow_partition", PARTITION, {"shadow_id": 2}),
    ("shadow_partition_status_is_known", "shadow_partition", PARTITION,
     OTHER | {"status": "good", "reason": "x"}),
    ("shadow_partition_trouble_has_a_reason", "shadow_partition", PARTITION,
     OTHER | {"status": "failed"}),
    ("shadow_left_out_has_one_row_a_partition", "shadow_left_out", LEFT_OUT, {}),
    ("shadow_left_out_is_of_a_shadow", "shadow_left_out", LEFT_OUT, {"shadow_id": 2}),
    ("shadow_left_out_is_explained", "shadow_left_out", LEFT_OUT, OTHER | {"reason": " "}),
    ("shadow_event_is_numbered", "shadow_event", EVENT, {}),
    ("shadow_event_is_of_a_shadow", "shadow_event", EVENT, {"event_id": 2, "shadow_id": 2}),
    ("shadow_event_step_is_known", "shadow_event", EVENT, {"event_id": 2, "step": "wait"}),
    ("shadow_event_is_explained", "shadow_event", EVENT, {"event_id": 2, "done_by": ""}),
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
    """The good row goes in; one that differs in `change` does not."""
    before = [("shadow", PARENT), (table, good)]
    assert refusal_of(constraints_database, table, good | change, *before) == constraint


def test_the_history_of_shadows_cannot_be_rewritten(constraints_database: str) -> None:
    before = [("shadow", PARENT), ("shadow_event", EVENT)]
    refused = refusal_of_change(constraints_database, "DELETE FROM shadow_event", *before)
    assert refused == "shadow_event_is_append_only"
