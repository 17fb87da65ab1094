"""The named queries of queries/*.sql, loaded once."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import aiosql


@cache
def statements() -> Any:
    """An object with one method a named query, each taking a connection and keyword arguments."""
    return aiosql.from_path(Path(__file__).with_name("queries"), "psycopg")
