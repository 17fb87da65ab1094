"""Seats of backfill's connections: advisory locks, so that one that ends frees its own seat.

Counting connections by name would not do: a task renames its own while it commits.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import psycopg

from forecast_backfill.core.errors import ConnectionsExhausted
from forecast_backfill.warehouse.statements import statements

SEAT_CLASS = 0x7365_6174
"""The first half of a seat's lock: the bytes of "seat". The second half is the index."""

SEAT_PATIENCE_SECONDS = 60.0
"""How long a new connection waits for a seat before it is refused."""

_POLL_SECONDS = 0.5

Connection = psycopg.Connection[dict[str, Any]]


def connect_seated(connect: Callable[[], Connection], *, seats: int) -> Connection:
    """A connection that holds one of `seats` seats until it is closed.

    While it waits it is not connected. Raises ConnectionsExhausted where none became free.
    """
    deadline = time.monotonic() + SEAT_PATIENCE_SECONDS
    while True:
        connection = connect()
        try:
            seat = statements().take_seat(connection, seat_class=SEAT_CLASS, seats=seats)
        except BaseException:
            connection.close()
            raise
        if seat is not None:
            return connection
        connection.close()
        if time.monotonic() > deadline:
            raise ConnectionsExhausted(
                f"all {seats} connections of backfill are taken",
                why=f"none of them ended within {SEAT_PATIENCE_SECONDS:.0f} s; runs that wait for "
                "a slot keep theirs",
                next_command="export FORECAST_BACKFILL_BACKFILL_CONNECTIONS=… with a higher number "
                "(max_connections of the server has to hold nightly's too), or wait",
            )
        time.sleep(_POLL_SECONDS)
