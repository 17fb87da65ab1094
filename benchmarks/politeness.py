"""`python -m benchmarks.politeness`: pause, resume and kill under load, and what nightly waits."""

from __future__ import annotations

import json
import statistics
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import click

from benchmarks.machine import describe_machine
from benchmarks.results import RESULTS, write_section
from forecast_backfill_tests.dagster.launches import Launcher, have_ended, open_launcher
from forecast_backfill_tests.dagster.station import Station, open_station, start_daemon, wait_for

ROUNDS = 5
COMMIT_SECONDS = 0.2
"""How long each commit of the campaign takes: there is one in flight nearly all the time."""

RUNS, DAYS_A_RUN = 4, 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure over its rounds, with what it has to be at most."""

    name: str
    seconds: list[float]
    most: str

    def as_row(self) -> str:
        """A line of the table."""
        middle, worst = statistics.median(self.seconds), max(self.seconds)
        return f"| {self.name} | {middle:.2f} s | {worst:.2f} s | {self.most} |"


@click.command()
@click.option("--rounds", type=click.IntRange(1, 50), default=ROUNDS, show_default=True)
@click.option("--output", type=click.Path(path_type=Path), default=RESULTS, show_default=True)
def main(rounds: int, output: Path) -> None:
    """Measure on a chain of its own, through webserver, daemon, queue and run workers."""
    with open_station() as station:
        start_daemon(station)
        launcher = open_launcher(station)
        alone = [nightly_delay(station, launcher) for _ in range(rounds)]
        station.slow_down(COMMIT_SECONDS)
        load(station, launcher)
        beside = [nightly_delay(station, launcher) for _ in range(rounds)]
        pauses, resumes = zip(*(pause_and_resume(station) for _ in range(rounds)), strict=True)
        kills, late = zip(*(one_kill(station, launcher) for _ in range(rounds)), strict=True)
    added = statistics.median(beside) - statistics.median(alone)
    figures = [
        Figure(name="pause → last start of a partition", seconds=list(pauses), most="2 s"),
        Figure(name="resume → first start of a partition", seconds=list(resumes), most="2 s"),
        Figure(name="kill, the whole command", seconds=list(kills), most=""),
        Figure(name="nightly's start alone: queue and slot", seconds=alone, most=""),
        Figure(name="nightly's start beside the campaign", seconds=beside, most=""),
    ]
    write_section("politeness", report(figures, added, sum(late), rounds), output)


def load(station: Station, launcher: Launcher) -> list[str]:
    """A campaign that takes its whole cap for long; its runs."""
    runs = [launcher.backfill(number, days=DAYS_A_RUN) for number in range(RUNS)]
    wait_for(lambda: station.flights() == 2, "a campaign at its cap")
    return runs


def nightly_delay(station: Station, launcher: Launcher) -> float:
    """Seconds from the launch of a nightly run to its worker, less its worker's own start."""
    run_id = launcher.nightly()
    wait_for(lambda: have_ended(station, [run_id]), "nightly's end")
    queued = station.rows(
        "SELECT extract(epoch FROM max(timestamp) FILTER (WHERE dagster_event_type ="
        " 'PIPELINE_STARTING') - min(timestamp) FILTER (WHERE dagster_event_type ="
        " 'PIPELINE_ENQUEUED'))::float8 FROM event_logs WHERE run_id = %s",
        run_id,
    )[0][0]
    waited = station.rows(
        "SELECT coalesce(sum(seconds), 0) FROM workload_wait WHERE run_id = %s", run_id
    )[0][0]
    return float(queued) + float(waited)


def pause_and_resume(station: Station) -> tuple[float, float]:
    """Seconds from a pause to the last start after it, and from a resume to the first."""
    paused = turn(station, "pause")
    time.sleep(3.0)
    resumed = turn(station, "resume")
    wait_for(lambda: starts(station, resumed, "min") is not None, "the first partition")
    last = starts(station, paused, "max", until=resumed)
    first = starts(station, resumed, "min")
    assert first is not None
    return 0.0 if last is None else seconds_between(paused, last), seconds_between(resumed, first)


def one_kill(station: Station, launcher: Launcher) -> tuple[float, int]:
    """Seconds of a kill under load, and commits of the old epoch after it returned."""
    wait_for(lambda: station.flights() == 2, "a campaign at its cap")
    began = time.monotonic()
    told = json.loads(station.call("kill", "--reason", "bench", "--json").stdout)
    took = time.monotonic() - began
    returned = str(station.rows("SELECT clock_timestamp()")[0][0])
    time.sleep(2.0)
    late = station.count(
        "SELECT count(*) FROM partition_event WHERE kind = 'written' AND workload = 'backfill'"
        " AND at > %s",
        returned,
    )
    assert told["in_flight"] == 0, told
    load(station, launcher)
    return took, late


def turn(station: Station, verb: str) -> str:
    """Turn a knob by the command line; when, by the database's clock."""
    return str(json.loads(station.call(verb, "--reason", "bench", "--json").stdout)["changed_at"])


def starts(station: Station, at: str, which: str, *, until: str | None = None) -> datetime | None:
    """The first (min) or last (max) start of a partition of backfill after an instant."""
    assert which in ("min", "max")
    found = station.rows(
        f"SELECT {which}(at) FROM partition_event WHERE kind = 'started'"
        " AND workload = 'backfill' AND at > %s::timestamptz"
        " AND at < coalesce(%s::timestamptz, 'infinity')",
        at,
        until,
    )
    instant: datetime | None = found[0][0]
    return instant


def seconds_between(at: str, later: datetime) -> float:
    """Seconds from one instant to the other."""
    return (later - datetime.fromisoformat(at)).total_seconds()


def report(figures: list[Figure], added: float, late: int, rounds: int) -> str:
    """The section."""
    return "\n".join(
        [
            "## Politeness: knobs under load",
            "",
            describe_machine(),
            "- Command: `python -m benchmarks.politeness`",
            f"- A campaign at its cap of 2 of 4 slots, each commit {COMMIT_SECONDS} s long; "
            f"{rounds} rounds each, by the database's clock",
            "",
            "| figure | median | worst | at most |",
            "|---|---|---|---|",
            *(each.as_row() for each in figures),
            "",
            f"Nightly's added start delay: {added:+.2f} s (at most one dequeue tick, 1 s). "
            f"Commits of the old epoch after `kill` returned: {late}.",
        ]
    )


if __name__ == "__main__":
    main()
