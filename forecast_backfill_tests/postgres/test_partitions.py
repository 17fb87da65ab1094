"""A partition is replaced whole, exactly, and by nobody else at the same time."""

from __future__ import annotations

import pyarrow as pa
import pytest
from psycopg.errors import NotNullViolation

from forecast_backfill_tests.postgres.rows import (
    fetch,
    fingerprint_of,
    open_session,
    table_of,
    write,
)

EXTREME = 2**63 - 1
NASTY = [
    {"store_id": "", "product_id": "NA", "demand_group": "null"},
    {"store_id": " ", "product_id": 'a"b', "demand_group": "x\ny"},
    {"store_id": "007", "product_id": "日本", "demand_group": "🥛 milk, fresh"},
    {"store_id": "é", "product_id": "e\u0301", "demand_group": "\\N"},
    {"store_id": "a,b", "product_id": "\\.", "demand_group": "\r\n"},
    {"store_id": "big", "product_id": "1", "units": EXTREME, "revenue_cents": -EXTREME - 1},
    {"store_id": "big", "product_id": "2", "units": -3, "discount_cents": EXTREME},
    {"store_id": "p", "product_id": "1", "list_price_cents": 0, "on_display": False},
    {"store_id": "p", "product_id": "2", "list_price_cents": -1, "on_mailer": True},
]


def test_nasty_text_and_extreme_numbers_come_back_as_they_went_in(database: str) -> None:
    """Quotes, newlines, empty and missing, unicode, COPY's own escapes, 64-bit extremes."""
    table = table_of(NASTY)
    with open_session(database) as session:
        write(session, table)
    columns = ", ".join(table.column_names)
    stored = fetch(database, f"SELECT {columns} FROM daily_demand")
    assert sorted(stored, key=str) == sorted(
        (tuple(row.values()) for row in table.to_pylist()), key=str
    )


def test_many_rows_in_uneven_pieces_come_back_as_they_went_in(database: str) -> None:
    """More rows than are encoded at once, in chunks that begin inside their buffers."""
    rows = [
        {
            "store_id": f"s{number}",
            "product_id": "p" * (number % 7),
            "list_price_cents": None if number % 3 else number,
            "on_display": (None, True, False)[number % 3],
        }
        for number in range(9_000)
    ]
    whole = table_of(rows)
    table = pa.concat_tables([whole.slice(1, 5), whole.slice(11, 8_800)])
    with open_session(database) as session:
        write(session, table)
    columns = ", ".join(table.column_names)
    stored = fetch(database, f"SELECT {columns} FROM daily_demand")
    assert sorted(stored, key=str) == sorted(
        (tuple(row.values()) for row in table.to_pylist()), key=str
    )


def test_a_missing_code_is_refused_by_the_database(database: str) -> None:
    """An engine never hands one over; if it did, the row must not vanish on the way."""
    table = table_of([{"store_id": "s", "product_id": "p"}, {"store_id": "t", "product_id": "q"}])
    position = table.column_names.index("product_id")
    broken = table.set_column(position, "product_id", pa.array(["p", None]))
    with open_session(database) as session, pytest.raises(NotNullViolation):
        write(session, broken)


def test_the_databases_fingerprint_is_that_of_the_core(database: str) -> None:
    """`write` compares them; here every row is compared on its own."""
    with open_session(database) as session:
        for row in NASTY:
            table = table_of([row])
            assert fingerprint_of(table).rows == 1
            write(session, table)


def test_an_empty_day_replaces_older_rows_with_none(database: str) -> None:
    with open_session(database) as session:
        write(session, table_of(NASTY))
        assert write(session, table_of([])) == 9
    assert fetch(database, "SELECT count(*) FROM daily_demand") == [(0,)]
    assert fetch(database, "SELECT status, output, output_rows FROM partition_ledger") == [
        ("done", "current", 0)
    ]


@pytest.mark.parametrize("column", ["store_id", "demand_group", "units", "on_mailer"])
def test_a_changed_value_changes_the_databases_fingerprint(database: str, column: str) -> None:
    changed = {"store_id": "'x'", "demand_group": "''", "units": "2", "on_mailer": "false"}
    with open_session(database) as session:
        write(session, table_of([{"store_id": "s", "product_id": "p"}]))
        from forecast_backfill.warehouse.partitions import PostgresWarehouse
        from forecast_backfill_tests.postgres.rows import PARTITION, REQUEST

        with PostgresWarehouse(session).transaction(PARTITION, REQUEST) as transaction:
            before = transaction.fingerprint()
            with session.use() as connection:
                connection.execute(f"UPDATE daily_demand SET {column} = {changed[column]}".encode())
            after = transaction.fingerprint()
    assert before.checksum != after.checksum
