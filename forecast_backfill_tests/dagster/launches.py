"""Launches runs through the webserver and the queue, and reads what became of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from forecast_backfill_tests.dagster.asking import ask
from forecast_backfill_tests.dagster.station import FIRST, REGIONS, SEAM, Station

LAUNCH = """
mutation Launch($params: ExecutionParams!) {
  launchRun(executionParams: $params) {
    __typename
    ... on LaunchRunSuccess { run { runId } }
    ... on PythonError { message }
    ... on RunConfigValidationInvalid { errors { message } }
  }
}
"""
LOCATIONS = """
{ repositoriesOrError { ... on RepositoryConnection { nodes { name location { name } } } } }
"""
ENDED = ("SUCCESS", "FAILURE", "CANCELED")


@dataclass(frozen=True, slots=True, kw_only=True)
class Launcher:
    """Launches runs of `daily_demand` over ranges, as the sensors and the UI do."""

    station: Station
    location: str
    repository: str

    def backfill(self, number: int, *, days: int = 5, **tags: str) -> str:
        """The run over the number-th stretch of `days` dates × all regions; its id."""
        first = FIRST + timedelta(days=number * days)
        return self._launch(first, first + timedelta(days=days - 1), tags)

    def nightly(self, first: str = REGIONS[0], last: str = REGIONS[-1]) -> str:
        """The night's run over nightly's own date, of all regions or some neighbours; its id."""
        tags = {"forecast_backfill/workload": "nightly"}
        return self._launch(SEAM, SEAM, tags, regions=(first, last))

    def _launch(
        self,
        first: date,
        last: date,
        tags: dict[str, str],
        regions: tuple[str, str] = (REGIONS[0], REGIONS[-1]),
    ) -> str:
        given = {
            "dagster/asset_partition_range_start": f"{first}|{regions[0]}",
            "dagster/asset_partition_range_end": f"{last}|{regions[1]}",
            "forecast_backfill/reprocess": "true",
            **tags,
        }
        params = {
            "selector": {
                "repositoryLocationName": self.location,
                "repositoryName": self.repository,
                "jobName": "__ASSET_JOB",
                "assetSelection": [{"path": ["daily_demand"]}],
            },
            "mode": "default",
            "executionMetadata": {
                "tags": [{"key": key, "value": value} for key, value in given.items()]
            },
        }
        found = ask(self.station.url, LAUNCH, {"params": params})["launchRun"]
        assert found["__typename"] == "LaunchRunSuccess", found
        return str(found["run"]["runId"])


def open_launcher(station: Station) -> Launcher:
    """A launcher on the station's only code location."""
    (found,) = ask(station.url, LOCATIONS, {})["repositoriesOrError"]["nodes"]
    return Launcher(station=station, location=found["location"]["name"], repository=found["name"])


def statuses(station: Station, run_ids: list[str]) -> list[str]:
    """The status of each run, in the order asked for."""
    rows = dict(station.rows("SELECT run_id, status FROM runs WHERE run_id = ANY(%s)", run_ids))
    return [rows[each] for each in run_ids]


def have_ended(station: Station, run_ids: list[str]) -> bool:
    """Whether every run has ended, in whatever way."""
    return all(each in ENDED for each in statuses(station, run_ids))


def failures(station: Station, run_ids: list[str]) -> list[str]:
    """What the runs failed of, shortened; nothing where all succeeded."""
    if set(statuses(station, run_ids)) <= {"SUCCESS"}:
        return []
    rows = station.rows(
        "SELECT event FROM event_logs WHERE run_id = ANY(%s)"
        " AND dagster_event_type IN ('STEP_FAILURE', 'PIPELINE_FAILURE')",
        run_ids,
    )
    return [*statuses(station, run_ids), *(event[:2000] for (event,) in rows)]


def worker_of(station: Station, run_id: str) -> int:
    """The process id of a run's worker."""
    rows = station.rows(
        "SELECT substring(event FROM 'Started process for run \\(pid: (\\d+)\\)') FROM event_logs"
        " WHERE run_id = %s AND event LIKE '%%Started process for run%%'",
        run_id,
    )
    return int(rows[0][0])
