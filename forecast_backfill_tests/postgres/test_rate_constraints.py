"""Constraints of the token buckets refuse what they are there to refuse."""

from __future__ import annotations

from typing import Any

import pytest

from forecast_backfill_tests.postgres.refusals import refusal_of

BUCKET = {"workload": "nightly"}

CASES: list[tuple[str, dict[str, Any]]] = [
    ("workload_bucket_has_one_row_a_workload", BUCKET),
    ("workload_bucket_workload_is_known", {"workload": "weekly"}),
    ("workload_bucket_counts_up", BUCKET | {"taken": -1.0}),
    ("workload_bucket_rate_is_positive", BUCKET | {"rate": 0}),
]


@pytest.mark.parametrize(("constraint", "bad"), CASES, ids=[case[0] for case in CASES])
def test_the_constraint_refuses(
    constraints_database: str, constraint: str, bad: dict[str, Any]
) -> None:
    """The migration has put the good rows there."""
    assert refusal_of(constraints_database, "workload_bucket", bad) == constraint
