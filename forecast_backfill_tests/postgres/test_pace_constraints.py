"""Every named constraint of the pace's tables refuses the row that it is there to refuse."""

from __future__ import annotations

from typing import Any

import pytest

from forecast_backfill_tests.postgres.refusals import refusal_of, refusal_of_change

PACE = {
    "workload": "nightly", "level": "half", "share": 0.5, "chunk_rows": 4096, "reason": "x",
    "changed_at": "2026-11-02",
}  # fmt: skip
EVENT = {
    "event_id": 77, "workload": "backfill", "old_level": "full", "level": "half", "share": 0.5,
    "chunk_rows": 4096, "reason": "x", "changed_by": "pace",
}  # fmt: skip
ROWS: dict[str, dict[str, Any]] = {
    "workload_pace": PACE,
    "pace_event": EVENT,
    "pace_heartbeat": {"beat_id": 77},
}
OTHER = {"workload_pace": {}, "pace_event": {"event_id": 78}, "pace_heartbeat": {}}

CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("workload_pace_has_one_row_a_workload", "workload_pace", {}),
    ("workload_pace_workload_is_known", "workload_pace", {"workload": "weekly"}),
    ("workload_pace_level_is_known", "workload_pace", {"level": "slow"}),
    ("workload_pace_share_is_a_part", "workload_pace", {"share": 0}),
    ("workload_pace_full_is_all", "workload_pace", {"level": "full"}),
    ("workload_pace_chunk_has_rows", "workload_pace", {"chunk_rows": 0}),
    ("workload_pace_is_explained", "workload_pace", {"reason": " "}),
    ("workload_pace_state_is_an_object", "workload_pace", {"state": "[]"}),
    ("pace_event_is_numbered", "pace_event", {"event_id": 77}),
    ("pace_event_workload_is_known", "pace_event", {"workload": "weekly"}),
    ("pace_event_levels_are_known", "pace_event", {"level": "slow"}),
    ("pace_event_trip_is_left_by_a_person", "pace_event", {"old_level": "tripped"}),
    ("pace_event_is_explained", "pace_event", {"changed_by": " "}),
    ("pace_heartbeat_is_numbered", "pace_heartbeat", {"beat_id": 77}),
]


@pytest.mark.parametrize(("constraint", "table", "change"), CASES, ids=[case[0] for case in CASES])
def test_the_constraint_refuses(
    constraints_database: str, constraint: str, table: str, change: dict[str, Any]
) -> None:
    """The good row goes in, the changed one does not."""
    bad = ROWS[table] | OTHER[table] | change
    assert refusal_of(constraints_database, table, bad, (table, ROWS[table])) == constraint


@pytest.mark.parametrize(
    "statement", ["UPDATE pace_event SET reason = 'y'", "DELETE FROM pace_event"]
)
def test_the_history_of_the_pace_cannot_be_rewritten(
    constraints_database: str, statement: str
) -> None:
    refused = refusal_of_change(constraints_database, statement, ("pace_event", EVENT))
    assert refused == "pace_event_is_append_only"
