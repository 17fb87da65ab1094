"""An export as plain Parquet files in a folder, for who has neither PostgreSQL nor Delta."""
