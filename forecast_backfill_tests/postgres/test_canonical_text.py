"""The database writes a value's canonical text as the core does."""

from __future__ import annotations

import psycopg
import pytest

from forecast_backfill.core.fingerprint import canonical_text

NUMBERS = [0, 1, 9, 10, 99, 100, 999, 1000, 9999, 10_000, -1, -9, -10, 2**63 - 1, -(2**63), None]
TEXTS = ["", "-", "a", "é", "e\u0301", "日本", "🥛", "a:b", "x" * 300, None]
FLAGS = [True, False, None]


@pytest.mark.parametrize(
    ("kind", "values"), [("bigint", NUMBERS), ("text", TEXTS), ("boolean", FLAGS)]
)
def test_every_value_has_the_cores_text(database: str, kind: str, values: list) -> None:
    with psycopg.connect(database, options="-c search_path=forecast_backfill") as connection:
        statement = f"SELECT canonical_text(CAST(%s AS {kind}))".encode()
        for value in values:
            (found,) = connection.execute(statement, (value,)).fetchone() or ("",)
            assert found == canonical_text([value])


def test_the_functions_are_put_in_place_of_their_calls(database: str) -> None:
    """A call that stays a call makes the fingerprint ten times as slow."""
    with psycopg.connect(database, options="-c search_path=forecast_backfill") as connection:
        plan = connection.execute(
            "EXPLAIN (VERBOSE, COSTS OFF) SELECT canonical_text(units) || canonical_text(region)"
            " || canonical_text(on_display) FROM daily_demand"
        ).fetchall()
    text = "\n".join(line for (line,) in plan)
    assert "length(daily_demand.region)" in text or "length(region)" in text
    assert "canonical_text" not in text
