"""A rollback tells Dagster what stands now: versions, metadata, the verdict of its reconcile."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

import pytest
from click.testing import CliRunner, Result
from dagster import AssetRecordsFilter, DagsterInstance, materialize

from forecast_backfill.cli import rollback
from forecast_backfill.core.partition import Partition
from forecast_backfill.dagster_defs import rollback_events
from forecast_backfill.dagster_defs.assets import build_daily_demand
from forecast_backfill.dagster_defs.partitions import build_date_regions
from forecast_backfill.settings import load_settings
from forecast_backfill.wiring.partition import SystemClock, calendar_of, load_engine
from forecast_backfill_tests.dagster.conftest import Site
from forecast_backfill_tests.dagster.event_log import DAILY_DEMAND, evaluations
from forecast_backfill_tests.dagster.small_chain import lines_of, repair
from forecast_backfill_tests.landing.hand_made import land

BUILT, NEW = (Partition(date=date(2026, 3, 2), region=region) for region in ("R01", "R02"))


@pytest.fixture(scope="module")
def instance(site: Site) -> Iterator[DagsterInstance]:
    """The site's own instance: its event log is in the project's database."""
    with DagsterInstance.get() as found:
        yield found


def build(instance: DagsterInstance, partitions: Sequence[Partition]) -> str:
    """One run over the partitions; its id, by which it is rolled back."""
    settings = load_settings()
    definition = build_date_regions(settings, calendar_of(settings, SystemClock()))
    asset = build_daily_demand(settings, definition, load_engine(settings).code_version)
    ends = [f"{each.date}|{each.region}" for each in (partitions[0], partitions[-1])]
    tags = {
        "dagster/asset_partition_range_start": ends[0],
        "dagster/asset_partition_range_end": ends[1],
    }
    result = materialize([asset], instance=instance, tags=tags)
    assert result.success
    return result.run_id


def latest(instance: DagsterInstance, partition: Partition) -> tuple[str, dict[str, Any]]:
    """Data version and metadata of the partition's latest materialization."""
    asked = AssetRecordsFilter(
        asset_key=DAILY_DEMAND, asset_partitions=[f"{partition.date}|{partition.region}"]
    )
    found = instance.fetch_materializations(asked, limit=1).records[0].asset_materialization
    assert found is not None
    assert found.tags is not None
    metadata = {name: each.value for name, each in found.metadata.items()}
    return found.tags["dagster/data_version"], metadata


def roll_back(campaign: str, *words: str) -> Result:
    command = rollback.command
    return CliRunner().invoke(command, ["--campaign", campaign, *words], standalone_mode=False)


@pytest.fixture
def before(site: Site, instance: DagsterInstance) -> str:
    """The data version of the partition that stands before the campaign."""
    repair(site.landing, BUILT)
    build(instance, [BUILT])
    return latest(instance, BUILT)[0]


@pytest.fixture
def campaign(site: Site, instance: DagsterInstance, before: str) -> str:
    """A run that changed one partition and made another."""
    land(site.landing, BUILT, lines_of(BUILT)[:2])
    return build(instance, [BUILT, NEW])


def test_dagster_shows_what_stands_after_a_rollback(
    instance: DagsterInstance, before: str, campaign: str
) -> None:
    (written, _), (made, _) = latest(instance, BUILT), latest(instance, NEW)
    done = roll_back(campaign)
    assert done.exception is None
    assert done.stdout.splitlines()[-1] == "Dagster shows 2 of them as they are now"

    version, metadata = latest(instance, BUILT)
    assert version == before != written
    assert (metadata["outcome"], metadata["output"]) == (
        f"rolled back, campaign {campaign}",
        "current",
    )
    assert (metadata["rows"], metadata["units"], metadata["revenue"]) == (2, 4, "6.00")

    version, metadata = latest(instance, NEW)
    assert (version, metadata["output"], metadata["rows"]) == ("absent", "absent", 0)
    told = evaluations(instance, "reconcile_parity")
    assert told["2026-03-02|R01"].passed
    assert not told["2026-03-02|R02"].passed
    assert told["2026-03-02|R02"].description == (
        f"rolled back, campaign {campaign}: nothing stood here before it, and nothing does now"
    )

    # Built again, it is as any other; and what is built again is not told as rolled back.
    build(instance, [NEW])
    assert latest(instance, NEW)[0] == made
    assert evaluations(instance, "reconcile_parity")["2026-03-02|R02"].passed
    assert json.loads(roll_back(campaign, "--json").stdout)["told_dagster"] == 0


def test_a_rollback_of_which_dagster_could_not_be_told_is_done_and_tells_it_later(
    instance: DagsterInstance, before: str, campaign: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = latest(instance, BUILT)[0]
    with monkeypatch.context() as patch:
        patch.setattr(rollback_events, "_known_versions", lambda *given: 1 / 0)
        done = roll_back(campaign)
    assert (done.return_value, done.stdout[:1]) == (0, "1")
    assert done.stderr.startswith("Dagster was not told, and shows what the campaign wrote: ")
    assert latest(instance, BUILT)[0] == written

    told = json.loads(roll_back(campaign, "--json").stdout)
    assert (told["already_back"], told["told_dagster"], told["dagster_error"]) == (1, 1, None)
    version, metadata = latest(instance, BUILT)
    assert version == before
    assert metadata["outcome"] == f"as it stands after the rollback of campaign {campaign}"


def test_who_writes_while_dagster_is_told_is_not_hidden(
    instance: DagsterInstance, campaign: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The partition is written, and told, between the look at the ledger and the telling."""
    store = rollback_events._store
    meanwhile: list[str] = []

    def late(*given: Any) -> None:
        if not meanwhile:
            meanwhile.append(build(instance, [BUILT]))
        store(*given)

    monkeypatch.setattr(rollback_events, "_store", late)
    written = latest(instance, BUILT)[0]
    assert roll_back(campaign).exception is None
    assert len(meanwhile) == 1
    version, metadata = latest(instance, BUILT)
    assert version == written
    assert metadata["outcome"] == f"as it stands after the rollback of campaign {campaign}"
