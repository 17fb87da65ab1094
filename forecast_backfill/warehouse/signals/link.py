"""Connections for one round of looks, opened at first use: between rounds there are none."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

import psycopg
from psycopg.rows import dict_row

from forecast_backfill.warehouse.connect import connect_plainly

APPLICATION = "forecast_backfill pace"


class Link:
    """However many workers there are, only the one that looks has this connection.

    The time zone stays the server's own: Dagster writes its local timestamps in that.
    """

    def __init__(self, url: str, *, timeout_seconds: float) -> None:
        self._url = url
        self._timeout_seconds = timeout_seconds
        self._connection: psycopg.Connection[dict[str, Any]] | None = None
        self._opening = Lock()

    def connection(self) -> psycopg.Connection[dict[str, Any]]:
        """The open connection. Raises DatabaseUnavailable where it cannot be opened."""
        # A look that hung may come back for it in the middle of a later round.
        with self._opening:
            if self._connection is None or self._connection.closed:
                self._connection = self._open()
            return self._connection

    def _open(self) -> psycopg.Connection[dict[str, Any]]:
        # libpq counts whole seconds and takes less than two for two.
        seconds = max(2, round(self._timeout_seconds))
        connection: psycopg.Connection[Any] = connect_plainly(
            self._url,
            row_factory=dict_row,
            application_name=APPLICATION,
            connect_timeout=seconds,
        )
        # A beat must not wait for the replica that it is to measure.
        connection.execute(
            "SELECT set_config('search_path', 'forecast_backfill', false),"
            " set_config('synchronous_commit', 'local', false),"
            " set_config('statement_timeout', %s, false)",
            (f"{round(self._timeout_seconds * 1000)}ms",),
        )
        return connection

    def close(self) -> None:
        """End the round."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def abandon(self) -> psycopg.Connection[dict[str, Any]] | None:
        """Leave the connection to a look that may hang in it; the next use opens another one."""
        left, self._connection = self._connection, None
        return left


class Links:
    """The links of one round together."""

    def __init__(self, *links: Link) -> None:
        self._links = links

    def close(self) -> None:
        """End the round."""
        for link in self._links:
            link.close()

    def abandon(self) -> Callable[[], None]:
        """Leave the connections to a look that hangs; to be called when it has ended."""
        left = [each for link in self._links if (each := link.abandon()) is not None]

        def close() -> None:
            for connection in left:
                connection.close()

        return close
