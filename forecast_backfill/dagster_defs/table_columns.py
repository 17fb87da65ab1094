"""The columns of the assets' tables with their units, as Dagster's catalogue lists them."""

from __future__ import annotations

from dagster import MetadataValue, TableColumn, TableSchema

from forecast_backfill.dagster_defs.metadata import RawMetadata
from forecast_backfill.settings import Settings

SCHEMA = "forecast_backfill"
Columns = tuple[tuple[str, str, str], ...]
"""Of each column its name, its type and what it means."""

_KEY = (
    ("date", "date", "business date in the chain's time zone"),
    ("region", "text", "region of the store on that date"),
)
POS_SALES_COLUMNS = (
    ("line_id", "text", "unique within the file"),
    ("basket_id", "text", "one purchase"),
    ("store_id", "text", "store"),
    ("product_id", "text", "product"),
    ("sold_at", "timestamp with offset", "when it was sold, ISO 8601"),
    ("quantity", "integer", "pieces; a line without a positive quantity is left out"),
    ("sales_value", "decimal", "paid for the line, with a decimal point"),
    ("retail_discount", "decimal", "discount of the retailer"),
    ("coupon_discount", "decimal", "discount by coupons"),
)
DAILY_DEMAND_COLUMNS = (
    *_KEY,
    ("store_id", "text", "store"),
    ("product_id", "text", "product"),
    ("demand_group", "text", "what forecasts are made by"),
    ("units", "bigint", "pieces sold"),
    ("revenue_cents", "bigint", "cents"),
    ("discount_cents", "bigint", "cents"),
    ("baskets", "bigint", "purchases with the product"),
    ("list_price_cents", "bigint", "cents a piece before discounts; missing where unknown"),
    ("on_display", "boolean", "in a promotion's display; missing where unknown"),
    ("on_mailer", "boolean", "in a promotion's mailer; missing where unknown"),
    ("authority", "smallint", "who wrote the row: 10 backfill, 20 live, 30 correction"),
    ("source_version", "bigint", "when the source was exported, microseconds since 1970 UTC"),
    ("row_hash", "bigint", "of the values, for comparisons"),
)
DEMAND_FORECAST_COLUMNS = (
    ("date", "date", "last date of the training window"),
    ("region", "text", "region"),
    ("forecast_version", "text", "hash of model and inputs"),
    ("demand_group", "text", "what is forecast"),
    ("target_date", "date", "the date that is forecast"),
    ("milliunits", "bigint", "thousandths of a piece"),
)
FORECAST_ACCURACY_COLUMNS = (
    ("date", "date", "last date of the training window"),
    ("region", "text", "region"),
    ("horizon", "integer", "days ahead; 0 is all known days together"),
    ("target_date", "date", "the date that was forecast; missing for horizon 0"),
    ("forecast_version", "text", "which forecast was measured"),
    ("known_days", "integer", "days of the horizon that are in"),
    ("horizon_days", "integer", "days of the horizon"),
    ("actual_milliunits", "bigint", "sold, thousandths of a piece"),
    ("forecast_milliunits", "bigint", "forecast, thousandths of a piece"),
    ("wape", "double precision", "sum of absolute errors by units sold; 0 is perfect"),
    ("naive_wape", "double precision", "the same for the seasonal naive"),
    ("bias", "double precision", "forecast less sold, by units sold; above 0 is too much"),
    ("rmsse", "double precision", "root mean squared error over the naive's within the history"),
    ("measured_at", "timestamptz", "when it was measured"),
    ("run_id", "text", "the run that measured"),
)


def column_metadata(columns: Columns) -> dict[str, RawMetadata]:
    """The columns of what is no table."""
    return {
        "dagster/column_schema": MetadataValue.table_schema(
            TableSchema([TableColumn(name, kind, meaning) for name, kind, meaning in columns])
        )
    }


def table_metadata(name: str, columns: Columns = ()) -> dict[str, RawMetadata]:
    """A table of the project's schema, with its columns where they are listed."""
    named: dict[str, RawMetadata] = {"dagster/table_name": f"{SCHEMA}.{name}"}
    return named | (column_metadata(columns) if columns else {})


def demand_metadata(settings: Settings) -> dict[str, RawMetadata]:
    """Where the rows of `daily_demand` are: a table of PostgreSQL, or a folder of the lakehouse."""
    if settings.is_lakehouse:
        return column_metadata(DAILY_DEMAND_COLUMNS)
    return table_metadata("daily_demand", DAILY_DEMAND_COLUMNS)


def demand_kinds(settings: Settings) -> set[str]:
    """What computes `daily_demand`, and what stores it."""
    return {settings.engine.value, "deltalake" if settings.is_lakehouse else "postgres"}
