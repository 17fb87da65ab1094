"""Asks a webserver of ours by GraphQL."""

from __future__ import annotations

import json
import urllib.request
from typing import Any


def ask(url: str, query: str, variables: dict[str, Any]) -> dict[str, Any]:
    """The webserver's answer."""
    body = json.dumps({"query": query, "variables": variables}).encode()
    request = urllib.request.Request(
        f"{url}/graphql", data=body, headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        answer = json.load(response)
    assert not answer.get("errors"), answer
    return dict(answer["data"])
