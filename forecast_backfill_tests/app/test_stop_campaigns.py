"""Campaigns are cancelled before their runs, so that no new run comes after the last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from forecast_backfill.app.stop_campaigns import Stopped, stop_campaigns


class Dagster:
    """Two backfills and some runs; `stuck` runs cannot be stopped."""

    def __init__(self, runs: int, stuck: int = 0) -> None:
        self.runs = [f"run-{n}" for n in range(runs)]
        self.stuck = [f"stuck-{n}" for n in range(stuck)]
        self.calls: list[str] = []

    def active_backfills(self) -> Mapping[str, Mapping[str, str]]:
        return {"spring": {"who": "ana"}, "night": {"who": "nightly"}}

    def cancel(self, backfill_id: str) -> None:
        self.calls.append(f"cancel {backfill_id}")

    def unfinished_runs(self, tags: Mapping[str, str], *, limit: int) -> Sequence[str]:
        assert tags == {"workload": "backfill"}
        return (self.runs + self.stuck)[:limit]

    def stop_runs(self, run_ids: Sequence[str]) -> int:
        self.calls.append(f"stop {len(run_ids)}")
        stopped = [each for each in run_ids if each in self.runs]
        self.runs = [each for each in self.runs if each not in stopped]
        return len(stopped)


def stop(dagster: Dagster) -> Stopped:
    return stop_campaigns(
        dagster,
        is_meant=lambda _, tags: tags["who"] != "nightly",
        tags={"workload": "backfill"},
    )


def test_the_campaign_is_cancelled_first_and_then_every_run_in_batches() -> None:
    dagster = Dagster(runs=120)
    assert stop(dagster) == Stopped(campaigns=("spring",), runs=120, left=0)
    assert dagster.calls == ["cancel spring", "stop 50", "stop 50", "stop 20"]


def test_runs_that_cannot_be_stopped_are_told_and_not_tried_for_ever() -> None:
    assert stop(Dagster(runs=3, stuck=2)) == Stopped(campaigns=("spring",), runs=3, left=2)


def test_without_runs_the_campaign_is_still_cancelled() -> None:
    assert stop(Dagster(runs=0)) == Stopped(campaigns=("spring",), runs=0, left=0)
