"""Talks to the Dagster webserver over HTTP: launch, follow and cancel backfills, stop runs."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any, cast

from forecast_backfill.app.campaign import BackfillProgress, BackfillState, PartitionSpan
from forecast_backfill.core.errors import DagsterUnreachable
from forecast_backfill.dagster_defs.partition_keys import format_key

ASSET = "daily_demand"
ASSET_JOB = "__ASSET_JOB"
TIMEOUT_SECONDS = 60.0
MANY = 1000
START_DAGSTER = (
    "forecast-backfill up --dagster (or DAGSTER_HOME=$PWD dagster dev -w workspace.yaml)"
)


class DagsterClient:
    """The webserver at `url`, for example http://127.0.0.1:3000."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")

    def launch(self, spans: Sequence[PartitionSpan], *, tags: Mapping[str, str], title: str) -> str:
        """Launch one asset backfill of `daily_demand` over all spans; its id.

        Raises DagsterUnreachable where the webserver does not answer or refuses.
        """
        ranges = [{"start": format_key(span.first), "end": format_key(span.last)} for span in spans]
        params = {
            "partitionsByAssets": [
                {"assetKey": {"path": [ASSET]}, "partitions": {"ranges": ranges}}
            ],
            "tags": [{"key": key, "value": value} for key, value in tags.items()],
            "title": title,
        }
        found = self._ask("launch_backfill", {"params": params}, "launchPartitionBackfill")
        return str(self._expect(found, "LaunchBackfillSuccess")["backfillId"])

    def progress(self, backfill_id: str) -> BackfillProgress:
        """How far Dagster is with the backfill."""
        variables = {"backfillId": backfill_id}
        found = self._ask("backfill_status", variables, "partitionBackfillOrError")
        backfill = self._expect(found, "PartitionBackfill")
        error = backfill.get("error")
        return BackfillProgress(
            state=BackfillState.of(str(backfill["status"])),
            status=str(backfill["status"]),
            partitions=int(backfill.get("numPartitions") or 0),
            error=None if not error else str(error["message"]),
        )

    def partition_counts(self, backfill_id: str) -> dict[str, int]:
        """How many partitions Dagster counts as targeted, in progress, materialized and failed."""
        variables = {"backfillId": backfill_id}
        found = self._ask("backfill_counts", variables, "partitionBackfillOrError")
        backfill = self._expect(found, "PartitionBackfill")
        (counts,) = backfill["assetBackfillData"]["assetBackfillStatuses"]
        return {
            "targeted": int(counts["numPartitionsTargeted"]),
            "in_progress": int(counts["numPartitionsInProgress"]),
            "materialized": int(counts["numPartitionsMaterialized"]),
            "failed": int(counts["numPartitionsFailed"]),
        }

    def cancel(self, backfill_id: str) -> None:
        """Ask Dagster to cancel the backfill and its runs."""
        variables = {"backfillId": backfill_id}
        found = self._ask("cancel_backfill", variables, "cancelPartitionBackfill")
        self._expect(found, "CancelBackfillSuccess")

    def active_backfills(self) -> dict[str, dict[str, str]]:
        """The backfills that have not ended: id → tags."""
        found = self._ask("active_backfills", {"limit": MANY}, "partitionBackfillsOrError")
        results = self._expect(found, "PartitionBackfills")["results"]
        return {
            str(each["id"]): {str(tag["key"]): str(tag["value"]) for tag in each["tags"]}
            for each in results
        }

    def unfinished_runs(self, tags: Mapping[str, str], *, limit: int) -> list[str]:
        """Ids of runs with all the tags that are queued or in progress, at most `limit`."""
        variables = {
            "tags": [{"key": key, "value": value} for key, value in tags.items()],
            "limit": limit,
        }
        found = self._ask("unfinished_runs", variables, "runsOrError")
        return [str(each["runId"]) for each in self._expect(found, "Runs")["results"]]

    def stop_runs(self, run_ids: Sequence[str]) -> int:
        """Tell the runs' workers to stop and mark the runs as cancelled at once; how many were."""
        found = self._ask("stop_runs", {"runIds": list(run_ids)}, "terminateRuns")
        results = self._expect(found, "TerminateRunsResult")["terminateRunResults"]
        return sum(each["__typename"] == "TerminateRunSuccess" for each in results)

    def code_locations(self) -> list[dict[str, Any]]:
        """What each code location holds, or the error with which it did not load."""
        found = self._ask("code_locations", {}, "workspaceOrError")
        return list(self._expect(found, "Workspace")["locationEntries"])

    def can_plan_a_run(self, location: str, repository: str) -> bool:
        """Whether the code server of the location answers: it plans each run, and starts none."""
        pipeline = {
            "pipelineName": ASSET_JOB,
            "repositoryName": repository,
            "repositoryLocationName": location,
            "assetSelection": [{"path": [ASSET]}],
        }
        found = self._ask("plan_run", {"pipeline": pipeline}, "executionPlanOrError")
        return bool(found["__typename"] == "ExecutionPlan")

    def reload_code(self, location: str) -> None:
        """Have the location's code server started anew; how that ended, `code_locations` says."""
        self._ask("reload_code", {"location": location}, "reloadRepositoryLocation")

    def url_of(self, backfill_id: str) -> str:
        """The page of the UI that shows the backfill."""
        return f"{self._url}/runs/b/{backfill_id}"

    def _ask(self, query: str, variables: Mapping[str, Any], field: str) -> dict[str, Any]:
        body = json.dumps({"query": _query(query), "variables": variables}).encode()
        request = urllib.request.Request(
            f"{self._url}/graphql", data=body, headers={"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
                answer: Any = json.load(response)
        except urllib.error.HTTPError as error:
            raise self._refused(f"it answered {error.code}: {_message_in(error)}") from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise DagsterUnreachable(
                f"no Dagster webserver at {self._url}",
                why=str(getattr(error, "reason", error)),
                next_command=START_DAGSTER,
            ) from error
        if answer.get("errors"):
            raise self._refused(str(answer["errors"][0].get("message")))
        return cast("dict[str, Any]", answer["data"][field])

    def _expect(self, found: dict[str, Any], type_name: str) -> dict[str, Any]:
        if found["__typename"] == type_name:
            return found
        why = str(found.get("message") or found["__typename"]).strip().splitlines()[0]
        keys = found.get("partitionKeys")
        raise self._refused(why + (f" ({', '.join(keys[:5])})" if keys else ""))

    def _refused(self, why: str) -> DagsterUnreachable:
        return DagsterUnreachable(
            f"the Dagster webserver at {self._url} refused",
            why=why,
            next_command=f"open {self._url}/locations and reload the code location; what keeps it "
            "from loading is shown there",
        )


def _query(name: str) -> str:
    folder = resources.files("forecast_backfill.dagster_defs") / "graphql"
    return (folder / f"{name}.graphql").read_text("utf-8")


def _message_in(error: urllib.error.HTTPError) -> str:
    text = error.read().decode("utf-8", "replace")
    try:
        return str(json.loads(text)["errors"][0]["message"])
    except (ValueError, KeyError, IndexError, TypeError):
        return text[:200]
