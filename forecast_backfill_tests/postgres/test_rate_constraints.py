"""Constraints of the token buckets refuse what they are there to refuse."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from forecast_backfill_tests.postgres.test_night_constraints import insert

BUCKET = {"workload": "nightly"}

CASES: list[tuple[str, dict[str, Any]]] = [
    ("workload_bucket_has_one_row_a_workload", BUCKET),
    ("workload_bucket_workload_is_known", {"workload": "weekly"}),
    ("workload_bucket_counts_up", BUCKET | {"taken": -1.0}),
    ("workload_bucket_rate_is_positive", BUCKET | {"rate": 0}),
]


@pytest.mark.parametrize(("constraint", "bad"), CASES, ids=[case[0] for case in CASES])
def test_the_constraint_refuses(database: str, constraint: str, bad: dict[str, Any]) -> None:
    options = "-c search_path=forecast_backfill"
    with psycopg.connect(database, options=options) as connection:
        with pytest.raises(psycopg.IntegrityError) as refused:
            insert(connection, "workload_bucket", bad)
        connection.rollback()
    assert refused.value.diag.constraint_name == constraint
