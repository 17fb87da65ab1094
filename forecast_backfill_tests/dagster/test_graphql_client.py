"""The webserver's answers, and what becomes of them; a small HTTP server stands for Dagster's."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from forecast_backfill.app.campaign import BackfillState, PartitionSpan
from forecast_backfill.core.errors import DagsterUnreachable
from forecast_backfill.core.partition import Partition
from forecast_backfill.dagster_defs import code_server
from forecast_backfill.dagster_defs.code_server import revive_code_server
from forecast_backfill.dagster_defs.graphql_client import DagsterClient

SPAN = PartitionSpan(
    first=Partition(date=date(2026, 3, 1), region="R01"),
    last=Partition(date=date(2026, 3, 2), region="R04"),
)


class Answers(ThreadingHTTPServer):
    """Answers every request with `answer`, and keeps what it was asked."""

    answer: tuple[int, Any] = (200, {})
    asked: list[dict[str, Any]]


class Handler(BaseHTTPRequestHandler):
    """Reads one request, gives the server's answer."""

    server: Answers

    def do_POST(self) -> None:
        """Answer a GraphQL request."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append(json.loads(body))
        status, answer = self.server.answer
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def dagster() -> Iterator[Answers]:
    """A server on a free port."""
    server = Answers(("127.0.0.1", 0), Handler)
    server.asked = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def client_of(server: Answers) -> DagsterClient:
    """A client of the test's server."""
    return DagsterClient(f"http://127.0.0.1:{server.server_port}/")


def test_a_launch_names_the_asset_its_key_ranges_and_its_tags(dagster: Answers) -> None:
    success = {"__typename": "LaunchBackfillSuccess", "backfillId": "abcd"}
    dagster.answer = (200, {"data": {"launchPartitionBackfill": success}})
    assert client_of(dagster).launch([SPAN], tags={"a": "b"}, title="two days") == "abcd"
    assert dagster.asked[0]["variables"]["params"] == {
        "partitionsByAssets": [
            {
                "assetKey": {"path": ["daily_demand"]},
                "partitions": {"ranges": [{"start": "2026-03-01|R01", "end": "2026-03-02|R04"}]},
            }
        ],
        "tags": [{"key": "a", "value": "b"}],
        "title": "two days",
    }


def test_a_refused_launch_gives_dagsters_reason(dagster: Answers) -> None:
    refusal = {"__typename": "PythonError", "message": "no such asset\nstack"}
    dagster.answer = (200, {"data": {"launchPartitionBackfill": refusal}})
    with pytest.raises(DagsterUnreachable, match="no such asset") as refused:
        client_of(dagster).launch([SPAN], tags={}, title="x")
    assert "stack" not in str(refused.value)


def test_an_error_of_the_server_is_told_in_its_words(dagster: Answers) -> None:
    dagster.answer = (400, {"errors": [{"message": "Unknown type"}]})
    with pytest.raises(DagsterUnreachable, match="it answered 400: Unknown type"):
        client_of(dagster).cancel("abcd")


def test_the_progress_tells_how_the_backfill_ended(dagster: Answers) -> None:
    found = {
        "__typename": "PartitionBackfill",
        "id": "abcd",
        "status": "COMPLETED_FAILED",
        "numPartitions": 12,
        "error": None,
    }
    dagster.answer = (200, {"data": {"partitionBackfillOrError": found}})
    progress = client_of(dagster).progress("abcd")
    assert (progress.state, progress.partitions) == (BackfillState.ENDED_OTHERWISE, 12)


def test_active_backfills_come_with_their_tags(dagster: Answers) -> None:
    results = [{"id": "abcd", "tags": [{"key": "who", "value": "ana"}]}, {"id": "ef", "tags": []}]
    found = {"__typename": "PartitionBackfills", "results": results}
    dagster.answer = (200, {"data": {"partitionBackfillsOrError": found}})
    assert client_of(dagster).active_backfills() == {"abcd": {"who": "ana"}, "ef": {}}


def test_unfinished_runs_are_asked_for_by_all_the_tags(dagster: Answers) -> None:
    found = {"__typename": "Runs", "results": [{"runId": "r1"}, {"runId": "r2"}]}
    dagster.answer = (200, {"data": {"runsOrError": found}})
    assert client_of(dagster).unfinished_runs({"a": "b"}, limit=50) == ["r1", "r2"]
    assert dagster.asked[0]["variables"] == {"tags": [{"key": "a", "value": "b"}], "limit": 50}


def test_runs_that_could_not_be_stopped_are_not_counted(dagster: Answers) -> None:
    results = [{"__typename": "TerminateRunSuccess"}, {"__typename": "TerminateRunFailure"}]
    found = {"__typename": "TerminateRunsResult", "terminateRunResults": results}
    dagster.answer = (200, {"data": {"terminateRuns": found}})
    assert client_of(dagster).stop_runs(["r1", "r2"]) == 1


def test_a_server_that_is_not_there_is_told_with_the_command_that_starts_it() -> None:
    with pytest.raises(DagsterUnreachable, match="no Dagster webserver") as refused:
        DagsterClient("http://127.0.0.1:9").progress("abcd")
    assert refused.value.next_command.startswith("forecast-backfill up --dagster")


HOLDS_IT = {
    "__typename": "RepositoryLocation",
    "repositories": [{"name": "r", "assetNodes": [{"assetKey": {"path": ["daily_demand"]}}]}],
}
BROKEN = {"__typename": "PythonError", "message": "ImportError: no module\nstack"}
ELSEWHERE = {"__typename": "RepositoryLocation", "repositories": [{"name": "r", "assetNodes": []}]}


def workspace(*locations: dict[str, Any] | None, plans: str = "ExecutionPlan") -> tuple[int, Any]:
    """The answer to each of the questions about code."""
    entries = [
        {"name": f"code-{number}", "locationOrLoadError": each}
        for number, each in enumerate(locations, start=1)
    ]
    data = {
        "workspaceOrError": {"__typename": "Workspace", "locationEntries": entries},
        "executionPlanOrError": {"__typename": plans},
        "reloadRepositoryLocation": {"__typename": "WorkspaceLocationEntry"},
    }
    return 200, {"data": data}


def test_code_that_answers_is_left_alone_whatever_becomes_of_others(dagster: Answers) -> None:
    dagster.answer = workspace(BROKEN, HOLDS_IT)
    assert revive_code_server(client_of(dagster), "http://d") is None
    assert [each["query"].split()[0] for each in dagster.asked] == ["query", "query"]


@pytest.mark.parametrize(
    ("answer", "why", "reloaded"),
    [
        (workspace(BROKEN), "ImportError: no module", "code-1"),
        (
            workspace(ELSEWHERE, HOLDS_IT, plans="InvalidSubsetError"),
            "the code server of code-2 does not answer",
            "code-2",
        ),
        (workspace(None), "code-1 is still being loaded", None),
        (workspace(ELSEWHERE), "no code location holds daily_demand", None),
    ],
)
def test_code_that_does_not_come_back_is_told_with_the_next_command(
    dagster: Answers,
    monkeypatch: pytest.MonkeyPatch,
    answer: tuple[int, Any],
    why: str,
    reloaded: str | None,
) -> None:
    monkeypatch.setattr(code_server, "PAUSE_SECONDS", 0)
    dagster.answer = answer
    with pytest.raises(DagsterUnreachable, match="is up at http://d, but no run can") as told:
        revive_code_server(client_of(dagster), "http://d")
    assert told.value.why == why
    assert "forecast-backfill down, then: forecast-backfill up --dagster" in str(told.value)
    asked = [each["variables"].get("location") for each in dagster.asked]
    assert [each for each in asked if each] == [reloaded] * (0 if reloaded is None else 4)


def test_code_that_is_being_loaded_is_waited_for(
    dagster: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 20:
            dagster.answer = workspace(HOLDS_IT)

    monkeypatch.setattr(code_server.time, "sleep", wait)
    dagster.answer = workspace(None)
    found = revive_code_server(client_of(dagster), "http://d")
    assert found is not None
    assert found.reason == "code-1 is still being loaded"
    assert waited == [1.0] * 20
