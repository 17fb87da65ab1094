"""Waits until Dagster has loaded the code and its daemon is at work: neither is measured."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable

import click

from forecast_backfill.warehouse.connect import connect_plainly

WAIT_SECONDS = 120.0
_HEARTBEATS = "SELECT count(*) FROM public.daemon_heartbeats WHERE daemon_type = 'BACKFILL'"
_LOCATIONS = """
query Locations {
  workspaceOrError {
    ... on Workspace {
      locationEntries {
        loadStatus
        locationOrLoadError { __typename ... on PythonError { message } }
      }
    }
  }
}
"""


def wait_until_ready(dagster_url: str, database_url: str) -> None:
    """Wait for the code location, then for the first heartbeat of the backfill daemon.

    Raises ClickException with Dagster's own words where the code does not load.
    """
    _wait("load the code location", lambda: _is_loaded(dagster_url))
    _wait("start its backfill daemon", lambda: _has_heartbeat(database_url))


def _wait(what: str, is_ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not is_ready():
        if time.monotonic() > deadline:
            raise click.ClickException(f"Dagster did not {what} in {WAIT_SECONDS:.0f} s")
        time.sleep(0.5)


def _is_loaded(dagster_url: str) -> bool:
    request = urllib.request.Request(
        f"{dagster_url}/graphql",
        data=json.dumps({"query": _LOCATIONS}).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        entries = json.load(response)["data"]["workspaceOrError"]["locationEntries"]
    for entry in entries:
        found = entry["locationOrLoadError"] or {}
        if found.get("__typename") == "PythonError":
            raise click.ClickException(f"the code location does not load: {found['message']}")
    return bool(entries) and all(entry["loadStatus"] == "LOADED" for entry in entries)


def _has_heartbeat(database_url: str) -> bool:
    with connect_plainly(database_url) as connection:
        (beats,) = connection.execute(_HEARTBEATS).fetchone() or (0,)
    return bool(beats)
