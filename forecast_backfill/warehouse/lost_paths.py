"""How long a connection waits on a path that swallows packets, unless its URL says otherwise."""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import urlencode

from psycopg import conninfo

_SCHEMES = ("postgresql://", "postgres://")

PATIENCE = {
    "connect_timeout": "10",
    "keepalives": "1",
    "keepalives_idle": "10",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "40000",
}
"""Parameters of libpq: 40 s of silence from the other machine end a connection, not a quarter of
an hour. A server that works on a long statement is not silent: its kernel answers. It is longer
than a write waits for a lock, while which the server may take no more data."""


def patience(url: str) -> dict[str, str]:
    """What the URL leaves open of PATIENCE; of a Unix socket only how long connecting may take.

    Raises psycopg.ProgrammingError where it is not a PostgreSQL URL.
    """
    said = conninfo.conninfo_to_dict(url)
    names = PATIENCE if _leads_to_a_network(said) else ("connect_timeout",)
    return {name: PATIENCE[name] for name in names if name not in said}


def with_patience(url: str) -> str:
    """The URL with what it leaves open of PATIENCE, for whoever connects by an address alone."""
    missing = patience(url)
    if not url.startswith(_SCHEMES):
        return conninfo.make_conninfo(url, **missing)
    if not missing:
        return url
    joint = "" if url.endswith(("?", "&")) else "&" if "?" in url else "?"
    return f"{url}{joint}{urlencode(missing)}"


def _leads_to_a_network(said: Mapping[str, object]) -> bool:
    names = (said.get("hostaddr") or said.get("host"), said.get("service"))
    variables = (os.environ.get(name) for name in ("PGHOSTADDR", "PGHOST", "PGSERVICE"))
    hosts = next((str(each) for each in (*names, *variables) if each), "")
    return any(host and host[0] not in "/@" for host in hosts.split(","))
