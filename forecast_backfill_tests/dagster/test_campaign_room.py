"""A campaign that Dagster's page launched: its first run refuses it where the disk has no room."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from dagster import DagsterInstance, Definitions, execute_job
from dagster._core.definitions.assets.graph.asset_graph_subset import AssetGraphSubset
from dagster._core.definitions.assets.job.asset_job import IMPLICIT_ASSET_JOB_NAME
from dagster._core.definitions.events import AssetKeyPartitionKey
from dagster._core.definitions.reconstruct import ReconstructableRepository
from dagster._core.execution.backfill import BulkActionStatus, PartitionBackfill

from forecast_backfill.dagster_defs.assembly import build_definitions
from forecast_backfill.settings import load_settings
from forecast_backfill.warehouse.plan_facts import PostgresPlanFacts
from forecast_backfill_tests.dagster.conftest import Site
from forecast_backfill_tests.dagster.event_log import DAILY_DEMAND
from forecast_backfill_tests.postgres.rows import fetch

FIRST, *OTHERS = KEYS = [f"2026-03-02|R{number:02d}" for number in range(1, 5)]
WRITTEN = "SELECT count(*) FROM partition_event WHERE kind = 'written'"
CAMPAIGNS = "SELECT campaign_id, partitions FROM campaign"


def definitions() -> Definitions:
    """As the code server has them: a run of a backfill asks its repository for the assets."""
    return build_definitions(load_settings())


@pytest.fixture
def instance(
    site: Site, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[DagsterInstance]:
    """With one partition built before, so that it is known what a partition takes."""
    monkeypatch.setenv("FORECAST_BACKFILL_DATABASE_URL", database)
    with DagsterInstance.local_temp(str(tmp_path)) as found:
        assert run(found, FIRST)
        yield found


def run(instance: DagsterInstance, key: str, tags: dict[str, str] | None = None) -> bool:
    repository = ReconstructableRepository.for_module(__name__, "definitions")
    with execute_job(
        repository.get_reconstructable_job(IMPLICIT_ASSET_JOB_NAME),
        instance=instance,
        tags={"dagster/partition": key, **(tags or {})},
        asset_selection=[DAILY_DEMAND],
    ) as result:
        return result.success


def launch(instance: DagsterInstance, keys: Sequence[str]) -> str:
    """As the page does, with no tag of ours; the backfill's id."""
    asked = {AssetKeyPartitionKey(DAILY_DEMAND, key) for key in keys}
    graph = definitions().resolve_asset_graph()
    backfill = PartitionBackfill.from_asset_graph_subset(
        backfill_id="fromthepage",
        backfill_timestamp=0.0,
        tags={},
        dynamic_partitions_store=instance,
        asset_graph_subset=AssetGraphSubset.from_asset_partition_set(asked, graph),
        title=None,
        description=None,
        run_config=None,
    )
    instance.add_backfill(backfill)
    return backfill.backfill_id


def set_free(monkeypatch: pytest.MonkeyPatch, partitions: float) -> list[int]:
    """The disk has room for so many partitions and what is kept of them; notes who asks."""
    asked: list[int] = []

    def free_bytes(facts: PostgresPlanFacts) -> int:
        asked.append(1)
        return int(2 * partitions * facts.partition_bytes())

    monkeypatch.setattr(PostgresPlanFacts, "free_bytes", free_bytes)
    return asked


def test_it_writes_nothing_ends_the_backfill_and_says_why(
    instance: DagsterInstance,
    database: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each partition alone would fit, and the one that is done needs no room."""
    set_free(monkeypatch, 2.9)
    found = launch(instance, KEYS)
    assert not run(instance, OTHERS[0], {"dagster/backfill": found})
    backfill = instance.get_backfill(found)
    assert backfill is not None
    assert backfill.status is BulkActionStatus.FAILING
    assert backfill.error is not None
    assert "the campaign was not begun: the database's disk is too full" in backfill.error.message
    assert "free are needed for 3 partitions" in backfill.error.message
    assert "accept --expired" in backfill.error.message
    assert fetch(database, WRITTEN) == [(1,)]
    assert fetch(database, CAMPAIGNS) == []


def test_the_first_run_asks_for_all_and_the_others_do_not_ask_again(
    instance: DagsterInstance,
    database: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = set_free(monkeypatch, 3)
    found = launch(instance, KEYS)
    assert run(instance, OTHERS[0], {"dagster/backfill": found})
    assert fetch(database, CAMPAIGNS) == [(found, 4)]
    # It was begun, so it goes on: what it still writes was counted.
    set_free(monkeypatch, 0)
    assert run(instance, OTHERS[1], {"dagster/backfill": found})
    assert len(asked) == 1


def test_a_run_without_a_backfill_is_judged_by_its_own_partitions_and_the_night_never(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_free(monkeypatch, 0.9)
    assert run(instance, FIRST)
    assert not run(instance, OTHERS[0])
    monkeypatch.setenv("FORECAST_BACKFILL_SEAM", "2026-03-02")
    assert run(instance, OTHERS[0], {"forecast_backfill/workload": "nightly"})
