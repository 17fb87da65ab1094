"""Measures bare COPY of a campaign's rows: the floor below which no way of writing them gets."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from forecast_backfill.warehouse.connect import connect_plainly

REPEATS = 5
CHUNK_BYTES = 1 << 18
OUT = "COPY forecast_backfill.daily_demand TO STDOUT (FORMAT binary)"
IN = "COPY public.bare_copy FROM STDIN (FORMAT binary)"
EMPTY_TABLE = """
DROP TABLE IF EXISTS public.bare_copy;
CREATE TABLE public.bare_copy (LIKE forecast_backfill.daily_demand)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class BareCopy:
    """The rows, their size as COPY sends them, the median seconds, and the server's version."""

    rows: int
    encoded_bytes: int
    seconds: float
    server_version: str


def measure_bare_copy(url: str, folder: Path) -> BareCopy:
    """COPY every row of `daily_demand`, encoded before, into a table without an index."""
    path = folder / "rows.copy"
    with connect_plainly(url) as connection:
        with path.open("wb") as file, connection.cursor().copy(OUT) as copy:
            for part in copy:
                file.write(part)
        seconds = statistics.median(_copy_once(connection, path) for _ in range(REPEATS))
        (rows,) = connection.execute("SELECT count(*) FROM public.bare_copy").fetchone() or (0,)
        connection.execute("DROP TABLE public.bare_copy")
        version = connection.info.parameter_status("server_version") or "unknown"
    return BareCopy(
        rows=rows,
        encoded_bytes=path.stat().st_size,
        seconds=seconds,
        server_version=version.split()[0],
    )


def _copy_once(connection: psycopg.Connection[Any], path: Path) -> float:
    # Made and committed before: into a table of its own transaction COPY would skip the WAL.
    connection.execute(EMPTY_TABLE)
    started = time.perf_counter()
    with path.open("rb") as file, connection.cursor().copy(IN) as copy:
        while part := file.read(CHUNK_BYTES):
            copy.write(part)
    return time.perf_counter() - started
