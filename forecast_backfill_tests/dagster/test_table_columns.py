"""What Dagster's catalogue lists of a table is what the table has."""

from __future__ import annotations

import pytest

from forecast_backfill.core.source import LINE_COLUMNS
from forecast_backfill.dagster_defs.table_columns import (
    DAILY_DEMAND_COLUMNS,
    DEMAND_FORECAST_COLUMNS,
    FORECAST_ACCURACY_COLUMNS,
    POS_SALES_COLUMNS,
    demand_kinds,
    demand_metadata,
)
from forecast_backfill.settings import Settings
from forecast_backfill_tests.app.nights import fetch

TABLES = {
    "daily_demand": DAILY_DEMAND_COLUMNS,
    "demand_forecast": DEMAND_FORECAST_COLUMNS,
    "forecast_accuracy": FORECAST_ACCURACY_COLUMNS,
}


@pytest.mark.parametrize("table", list(TABLES))
def test_the_columns_listed_are_those_of_the_table(database_url: str, table: str) -> None:
    stored = fetch(
        database_url,
        "SELECT attname::text, format_type(atttypid, NULL) FROM pg_attribute"
        f" WHERE attrelid = 'forecast_backfill.{table}'::regclass AND attnum > 0"
        " AND NOT attisdropped ORDER BY attnum",
    )
    long = {"timestamptz": "timestamp with time zone"}
    listed = [(name, long.get(kind, kind)) for name, kind, _ in TABLES[table]]
    assert listed == stored


def test_the_columns_listed_of_a_landed_file_are_those_that_are_due() -> None:
    assert tuple(name for name, _, _ in POS_SALES_COLUMNS) == LINE_COLUMNS


@pytest.mark.parametrize(
    ("warehouse", "kinds"),
    [("postgres", {"pandas", "postgres"}), ("delta", {"pandas", "deltalake"})],
)
def test_the_kinds_name_what_computes_and_what_stores(warehouse: str, kinds: set[str]) -> None:
    assert demand_kinds(Settings.model_validate({"warehouse": warehouse})) == kinds


def test_a_lakehouse_has_no_table_of_the_database() -> None:
    found = demand_metadata(Settings.model_validate({"warehouse": "delta"}))
    assert "dagster/table_name" not in found
