"""The rows that the truth's tables refuse."""

from typing import Any

import psycopg
import pytest

REMOVED = {"repair_id": "r", "table_name": "public.copy", "row_content": "{}"}
PROOF = {"date": "2026-11-01", "region": "R01", "is_same": True, "rows": 1, "proved_by": "x"}

CASES: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("duplicate_removed_is_numbered", "duplicate_removed", REMOVED, {"removed_id": 1}),
    ("duplicate_removed_keeps_a_row", "duplicate_removed", REMOVED, {"row_content": "[]"}),
    ("recompute_proof_is_numbered", "recompute_proof", PROOF, {"proof_id": 1}),
    ("recompute_proof_counts_rows", "recompute_proof", PROOF, {"rows": -1}),
    ("recompute_proof_difference_has_a_reason", "recompute_proof", PROOF, {"is_same": False}),
]


def insert(connection, table, row):
    marks = ", ".join(["%s"] * len(row))
    statement = f"INSERT INTO {table} ({', '.join(row)}) OVERRIDING SYSTEM VALUE VALUES ({marks})"
    connection.execute(statement, list(row.values()))


def connect(url):
    options = "-c search_path=forecast_backfill"
    return psycopg.connect(url, options=options, autocommit=True)


@pytest.mark.parametrize(
    ("constraint", "table", "good", "change"), CASES, ids=[case[0] for case in CASES]
)
def test_the_constraint_refuses(database, constraint, table, good, change):
    with connect(database) as connection:
        insert(connection, table, good)
        with pytest.raises(psycopg.IntegrityError) as refused:
            insert(connection, table, good | change)
    assert refused.value.diag.constraint_name == constraint


@pytest.mark.parametrize(
    ("table", "row"), [("duplicate_removed", REMOVED), ("recompute_proof", PROOF)]
)
@pytest.mark.parametrize("change", ["DELETE FROM {}", "TRUNCATE {}", "UPDATE {} SET {} = {}"])
def test_what_was_recorded_cannot_be_changed(database, table, row, change):
    column = next(iter(row))
    with connect(database) as connection:
        insert(connection, table, row)
        with pytest.raises(psycopg.IntegrityError) as refused:
            connection.execute(
                change.format(*([table, column, column] if "SET" in change else [table]))
            )
    assert refused.value.diag.constraint_name == f"{table}_is_append_only"
