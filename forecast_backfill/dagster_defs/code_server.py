"""Sees to it that a webserver which answers has a code server: without one no run can begin."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from forecast_backfill.core.errors import DagsterUnreachable
from forecast_backfill.dagster_defs.graphql_client import ASSET, DagsterClient

TRIES = 4
PAUSE_SECONDS = 1.0
"""The first answer after a reload may still be that of the server that is gone."""
LOADING_LOOKS = 60
"""So often code is looked at that is being loaded: importing all of it takes seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeTrouble:
    """Why no run can begin; `location` is the one to load again, None where none can be."""

    location: str | None
    reason: str
    is_loading: bool = False


def revive_code_server(client: DagsterClient, url: str) -> CodeTrouble | None:
    """Load the code again where it does not answer; what was wrong, None where nothing was.

    Raises DagsterUnreachable where it does not come back.
    """
    first = trouble = _trouble(client)
    tries, looks = TRIES, LOADING_LOOKS
    while trouble is not None and tries and looks:
        if trouble.is_loading:
            looks -= 1
        else:
            tries -= 1
        if trouble.location is not None:
            client.reload_code(trouble.location)
        time.sleep(PAUSE_SECONDS)
        trouble = _trouble(client)
    if trouble is None:
        return first
    raise DagsterUnreachable(
        f"Dagster's webserver is up at {url}, but no run can begin",
        why=trouble.reason,
        next_command="forecast-backfill down, then: forecast-backfill up --dagster; "
        f"{url}/locations shows all of the error",
    )


def _trouble(client: DagsterClient) -> CodeTrouble | None:
    found: CodeTrouble | None = None
    for entry in client.code_locations():
        name, loaded = str(entry["name"]), entry["locationOrLoadError"]
        if loaded is None:
            reason = f"{name} is still being loaded"
            found = CodeTrouble(location=None, reason=reason, is_loading=True)
        elif loaded["__typename"] != "RepositoryLocation":
            found = CodeTrouble(location=name, reason=_first_line(str(loaded["message"])))
        elif (repository := _ours(loaded)) is not None:
            if client.can_plan_a_run(name, repository):
                return None
            return CodeTrouble(location=name, reason=f"the code server of {name} does not answer")
    return found or CodeTrouble(location=None, reason=f"no code location holds {ASSET}")


def _ours(location: dict[str, Any]) -> str | None:
    for repository in location["repositories"]:
        if any(node["assetKey"]["path"] == [ASSET] for node in repository["assetNodes"]):
            return str(repository["name"])
    return None


def _first_line(message: str) -> str:
    return message.strip().splitlines()[0] if message.strip() else "its code does not load"
