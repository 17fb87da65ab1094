"""Every named constraint of the capacity's tables refuses the row that it is there to refuse."""

from __future__ import annotations

from typing import Any

import pytest

from forecast_backfill_tests.postgres.refusals import refusal_of

AT = "2026-11-02T08:30:00+00"
RECORD = {
    "run_id": "r", "step": "daily_demand", "night": "2026-11-02", "shape": "daily_demand",
    "slots": 1, "started_at": AT, "ended_at": AT,
}  # fmt: skip
MEASURE = {
    "measure_id": 77, "measured_by": "Ada", "source": "nights", "nights": 3, "slots": 4,
    "headroom": 1, "peak": 2, "cap": 1, "by_shape": "{}", "together": "{}", "profile": "[]",
    "reason": "x",
}  # fmt: skip
ROWS = {"night_record": RECORD, "capacity_measure": MEASURE}
OTHER = {"night_record": {"run_id": "s"}, "capacity_measure": {"measure_id": 78}}

CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("night_record_has_one_row_a_step", "night_record", {"run_id": "r"}),
    ("night_record_holds_a_slot", "night_record", {"slots": 0}),
    ("night_record_ends_after_its_start", "night_record", {"ended_at": "2026-11-02T08:29:00+00"}),
    ("capacity_measure_is_numbered", "capacity_measure", {"measure_id": 77}),
    ("capacity_measure_source_is_known", "capacity_measure", {"source": "idle"}),
    ("capacity_measure_says_who", "capacity_measure", {"measured_by": " "}),
    ("capacity_measure_is_over_enough_nights", "capacity_measure", {"nights": 2}),
    ("capacity_measure_counts_slots", "capacity_measure", {"headroom": -1, "cap": 3}),
    ("capacity_measure_cap_follows", "capacity_measure", {"cap": 2}),
]


@pytest.mark.parametrize(("constraint", "table", "change"), CASES, ids=[case[0] for case in CASES])
def test_the_constraint_refuses(
    constraints_database: str, constraint: str, table: str, change: dict[str, Any]
) -> None:
    """The good row goes in, the changed one does not."""
    good = ROWS[table]
    bad = good | OTHER[table] | change
    assert refusal_of(constraints_database, table, bad, (table, good)) == constraint
