"""The version of the engine's code, by which a changed transform reprocesses by itself."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files

LITERAL_VERSION = "1"
"""Raised by hand where rows change for a reason outside the modules below (a library, say)."""

_MODULES = (
    ("forecast_backfill", "arrow_arrays.py"),
    ("forecast_backfill.core", "fingerprint.py"),
    ("forecast_backfill.core", "manifest.py"),
    ("forecast_backfill.core", "source.py"),
    ("forecast_backfill.engines", "csv_scan.py"),
    ("forecast_backfill.engines", "csv_text.py"),
    ("forecast_backfill.engines", "delivery_files.py"),
    ("forecast_backfill.engines", "fingerprint.py"),
    ("forecast_backfill.engines", "grouping.py"),
    ("forecast_backfill.engines", "join_parts.py"),
    ("forecast_backfill.engines", "judge_delivery.py"),
    ("forecast_backfill.engines", "judge_part.py"),
    ("forecast_backfill.engines", "judge_values.py"),
    ("forecast_backfill.engines", "list_price.py"),
    ("forecast_backfill.engines", "manifest_check.py"),
    ("forecast_backfill.engines", "pandas_engine.py"),
    ("forecast_backfill.engines", "parquet_file.py"),
    ("forecast_backfill.engines", "product_lookup.py"),
    ("forecast_backfill.engines", "promotion_flags.py"),
    ("forecast_backfill.engines", "raw_lines.py"),
    ("forecast_backfill.engines", "spread_lines.py"),
    ("forecast_backfill.engines", "transform.py"),
    ("forecast_backfill.engines", "unpack.py"),
    ("forecast_backfill.engines", "validate.py"),
)


@cache
def code_version() -> str:
    """The literal version and a digest of the source text of all that decides rows.

    Line endings do not matter, so that checkouts on different systems agree. Where the source text
    is not installed, the literal version stands alone.
    """
    digest = hashlib.sha256()
    for package, name in _MODULES:
        try:
            text = (files(package) / name).read_text("utf-8")
        except OSError:
            return LITERAL_VERSION
        digest.update(f"{package}/{name}\n{text}".encode())
    return f"{LITERAL_VERSION}-{digest.hexdigest()[:12]}"
