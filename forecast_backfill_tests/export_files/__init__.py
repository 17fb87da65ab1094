"""Exports as plain Parquet files."""
