"""A table of sales without keys, as an inherited one may be, and what the tests do with it."""

from __future__ import annotations

from contextlib import contextmanager

import psycopg

from forecast_backfill.app.diagnose import diagnose, repair
from forecast_backfill.warehouse.doubled_table import Asked
from forecast_backfill.warehouse.duplicates import open_duplicates

SALES = """
    CREATE TABLE sales (
        date date, region text, store text, units integer, price numeric(10,2), version bigint,
        run_id text, written_at timestamptz DEFAULT now()
    )
"""
ROWS = [("2026-11-01", "R01", "s1", 2, "1.50"), ("2026-11-01", "R01", "s2", 3, "2.50"),
        ("2026-11-02", "R02", "s1", 4, "3.50")]  # fmt: skip
KEY = ("date", "region", "store")


def execute(url, statement, *values):
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else None


def insert(url, rows, *, run_id, version=1):
    with psycopg.connect(url) as connection:
        for row in rows:
            connection.execute(
                "INSERT INTO sales VALUES (%s, %s, %s, %s, %s, %s, %s)", (*row, version, run_id)
            )


@contextmanager
def opened(url, table="sales", key=KEY, lock_timeout=5.0, **asked):
    with open_duplicates(
        url, Asked(table=table, key=key, **asked), lock_timeout_seconds=lock_timeout
    ) as found:
        yield found


def findings(url, **asked):
    with opened(url, **asked) as table:
        return diagnose(table)


def collapse(url, *, is_dry=False, **asked):
    told = []
    with opened(url, **asked) as table:
        repairs = repair(table, repair_id="fix-1", is_dry=is_dry, tell=told.append)
    assert told == repairs
    return repairs


def stored(url, columns="date::text, region, store, units"):
    return execute(url, f"SELECT {columns} FROM sales ORDER BY 1, 2, 3")
