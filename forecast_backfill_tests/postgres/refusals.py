"""Which constraint refuses a row beside a good one."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from forecast_backfill_tests.postgres.test_night_constraints import insert


def refusal_of(
    database: str, table: str, good: dict[str, Any] | None, bad: dict[str, Any]
) -> str | None:
    """The constraint that keeps `bad` out once `good` is in; both are taken back."""
    options = "-c search_path=forecast_backfill"
    with psycopg.connect(database, options=options) as connection:
        if good is not None:
            insert(connection, table, good)
        with pytest.raises(psycopg.IntegrityError) as refused:
            insert(connection, table, bad)
        connection.rollback()
    return refused.value.diag.constraint_name
