"""Both engines make the same of the same landing files: rows, fingerprints, faults, ledger."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from forecast_backfill.core.outcome import Outcome, Quarantined, Written
from forecast_backfill.core.partition import DateRange, Partition, partitions_of
from forecast_backfill.core.states import Workload
from forecast_backfill.engines.spark_job import JobPlan, SparkJob
from forecast_backfill.engines.spark_reports import Report
from forecast_backfill.landing.damage import damage
from forecast_backfill.landing.damage_ways import WAYS
from forecast_backfill.settings import Settings, load_settings
from forecast_backfill.warehouse.embedded import EmbeddedServer
from forecast_backfill.wiring.batch import OpenSpark, Shipment, run_batch_of, run_here, ship
from forecast_backfill.wiring.partition import open_wiring
from forecast_backfill_tests.conftest import TEMPLATE, copy_database
from forecast_backfill_tests.landing.hand_made import land, land_dimensions
from forecast_backfill_tests.landing.parts import land_in_parts
from forecast_backfill_tests.scenarios.folders import (
    NAMES,
    PARTITION,
    expected_of,
    land_scenario,
    land_scenario_dimensions,
)
from forecast_backfill_tests.spark.servers import ConnectServer

FIRST = date(2026, 11, 2)
DAMAGED = tuple(
    partitions_of(
        DateRange(start=FIRST, end=FIRST + timedelta(days=len(WAYS) // 2 + 1)), ["R01", "R02"]
    )
)
ODD = tuple(
    partitions_of(
        DateRange(start=FIRST + timedelta(days=20), end=FIRST + timedelta(days=26)), ["R01"]
    )
)
UNICODE, EXTREME, EMPTY, PARTS, PARQUET, FUTURE = ODD
HIGHEST = 2**63 - 1

ROWS = "SELECT * FROM forecast_backfill.daily_demand ORDER BY date, region, store_id, product_id"
LEDGER = """
    SELECT date, region, status, output, attempt, workload, reason, output_source_digest,
           output_code_version, output_dimension_version, output_rows, output_checksum,
           output_units, output_revenue_cents, output_stores, output_products,
           output_data_version, output_authority, output_source_version, output_lines,
           output_exclusions
    FROM forecast_backfill.partition_ledger ORDER BY date, region
"""
QUARANTINES = """
    SELECT date, region, source_digest, fault_total, fault_counts, faults, summary
    FROM forecast_backfill.quarantine ORDER BY date, region, quarantine_id
"""
EVENTS = """
    SELECT date, region, kind, attempt, rows
    FROM forecast_backfill.partition_event ORDER BY date, region, event_id
"""

Stored = Mapping[str, list[tuple[Any, ...]]]


def stored_in(url: str) -> Stored:
    """All that a run left, but for its name, its times and its durations."""
    queries = {"rows": ROWS, "ledger": LEDGER, "quarantines": QUARANTINES, "events": EVENTS}
    with psycopg.connect(url) as connection:
        return {name: connection.execute(query).fetchall() for name, query in queries.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenarios:
    """The outcome of each scenario, and what was stored in the end."""

    in_pandas: dict[str, Report]
    in_spark: dict[str, Report]
    stored_by_pandas: Stored
    stored_by_spark: Stored


def timeless(report: Report) -> Report:
    """The report without its duration."""
    return replace(report, seconds=0.0) if isinstance(report, Written) else report


def run_all(shipments: Sequence[Shipment], places: Sequence[Partition]) -> Iterator[Report]:
    """On an executor: the scenario whose number a partition's date stands for."""
    for place in places:
        yield from run_here(shipments[(place.date - FIRST).days], [PARTITION])


def settings_of(url: str, home: Path, **changes: object) -> Settings:
    """A chain in which all dates used here are history."""
    return load_settings(
        home=home,
        database_url=url,
        regions=("R01", "R02"),
        first_date=date(2026, 1, 1),
        as_of=date(2026, 12, 31),
        seam=date(2026, 12, 31),
        slots=4,
        **changes,
    )


@contextmanager
def databases(server: EmbeddedServer, names: Sequence[str]) -> Iterator[dict[str, str]]:
    """A fresh database for each name."""
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(contextmanager(copy_database)(server.url, name, TEMPLATE))
            for name in names
        }


@pytest.fixture(scope="module")
def scenarios(
    connected: OpenSpark, server: EmbeddedServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scenarios]:
    """What both engines make of the scenarios, one after the other, each in a database of its own;
    in Spark they are one task."""
    homes = {name: tmp_path_factory.mktemp(name) for name in NAMES}
    for name, home in homes.items():
        land_scenario_dimensions(home / "landing")
        land_scenario(name, home / "landing")
    with databases(server, ["scenarios_pandas", "scenarios_spark"]) as urls:
        pandas, spark = urls.values()
        ours = [
            outcome
            for home in homes.values()
            for outcome in run_batch(settings_of(pandas, home), [PARTITION])
        ]
        with open_wiring(
            settings_of(spark, home), workload=Workload.BACKFILL, run_id="5f0c"
        ) as wiring:
            request = wiring.request()
        shipments = [ship(settings_of(spark, home), request) for home in homes.values()]
        numbers = range(len(NAMES))
        plan = JobPlan(
            tasks=(
                tuple(Partition(date=FIRST + timedelta(days=n), region="R01") for n in numbers),
            ),
            task=partial(run_all, shipments),
            group="scenarios",
            description="",
        )
        theirs = run_job(connected, plan)
        yield Scenarios(
            in_pandas=dict(zip(NAMES, map(timeless, ours), strict=True)),
            in_spark=dict(zip(NAMES, map(timeless, theirs), strict=True)),
            stored_by_pandas=stored_in(pandas),
            stored_by_spark=stored_in(spark),
        )


@pytest.fixture(scope="module")
def campaign(
    connect: ConnectServer,
    connected: OpenSpark,
    server: EmbeddedServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Stored, Stored]]:
    """What both engines left of a campaign with every kind of damage and odd but good days."""
    home = tmp_path_factory.mktemp("campaign")
    land_odd_campaign(home / "landing")
    with databases(server, ["campaign_pandas", "campaign_spark"]) as urls:
        run_batch(settings_of(urls["campaign_pandas"], home), [*DAMAGED, *ODD])
        settings = settings_of(
            urls["campaign_spark"], home, engine="spark", spark_master=connect.master
        )
        run_batch(settings, [*DAMAGED, *ODD], connected)
        yield stored_in(urls["campaign_pandas"]), stored_in(urls["campaign_spark"])


def land_odd_campaign(landing: Path) -> None:
    """Good deliveries of which as many are damaged as there are ways, and six odd days."""
    land_dimensions(
        landing,
        products=[
            {"product_id": "0042", "demand_group": "SOUP"},
            {"product_id": "產品-ß", "demand_group": "Ñandú 🛒"},
        ],
        stores=[("s1", "R01"), ("sé-1", "R01"), ("s2", "R02")],
    )
    for partition in DAMAGED:
        store = {"R01": "s1", "R02": "s2"}[partition.region]
        land(landing, partition, [{"store_id": store, "product_id": "0042"}] * 6)
    damage(landing, dates=_dates(DAMAGED), regions=["R01", "R02"], count=len(WAYS))
    land(landing, UNICODE, [{"store_id": "sé-1", "product_id": "產品-ß"}, {"store_id": "s1"}])
    extreme = {"store_id": "s1", "product_id": "0042", "quantity": HIGHEST}
    land(landing, EXTREME, [extreme | {"sales_value": "92233720368547758.07"}])
    land(landing, EMPTY, [])
    two = [{"store_id": "s1", "product_id": "0042", "sales_value": "-2.50"}] * 2
    land_in_parts(landing, PARTS, [two, two])
    land(landing, PARQUET, two, file_name="sales.parquet")
    land(landing, FUTURE, two, manifest_overrides={"exported_at": "9999-12-31T00:00:00Z"})


def run_batch(
    settings: Settings, partitions: Sequence[Partition], opened: OpenSpark | None = None
) -> list[Outcome]:
    """The partitions by the settings' engine, as one backfill."""
    with open_wiring(settings, workload=Workload.BACKFILL, run_id="5f0c") as wiring:
        run = run_batch_of(settings, opened)
        return run(partitions, wiring.request(), wiring.ports, lambda outcome: None)


def run_job(connected: OpenSpark, plan: JobPlan) -> list[Report]:
    """What the job reports until its end; the test fails where it breaks."""
    reports: list[Report] = []
    with connected() as session:
        job = SparkJob(session, plan, is_connect=True)
        deadline = time.monotonic() + 300
        while not job.is_over:
            assert time.monotonic() < deadline
            reports.extend(job.poll(0.5))
    assert job.failure is None
    return reports


def _dates(partitions: Sequence[Partition]) -> DateRange:
    return DateRange(start=partitions[0].date, end=partitions[-1].date + timedelta(days=1))


@pytest.mark.parametrize("name", NAMES)
def test_a_scenario_comes_to_the_same_in_both_engines(name: str, scenarios: Scenarios) -> None:
    found, expected = scenarios.in_spark[name], expected_of(name)
    if isinstance(found, Quarantined):
        codes = [str(fault.code) for fault in found.report.kept]
        assert codes == [fault["code"] for fault in expected["faults"]]
    else:
        assert isinstance(found, Written)
        assert found.fingerprint.rows == len(expected["rows"])
    assert found == scenarios.in_pandas[name]


@pytest.mark.parametrize("what", ["rows", "ledger", "quarantines", "events"])
def test_the_scenarios_leave_the_same_in_both_engines(what: str, scenarios: Scenarios) -> None:
    assert scenarios.stored_by_spark[what]
    assert scenarios.stored_by_spark[what] == scenarios.stored_by_pandas[what]


@pytest.mark.parametrize("what", ["rows", "ledger", "quarantines", "events"])
def test_a_campaign_leaves_the_same_in_both_engines(
    what: str, campaign: tuple[Stored, Stored]
) -> None:
    in_pandas, in_spark = campaign
    assert in_spark[what]
    assert in_spark[what] == in_pandas[what]


def test_the_campaign_has_every_kind_of_damage(campaign: tuple[Stored, Stored]) -> None:
    _, in_spark = campaign
    found = {code for row in in_spark["quarantines"] for code in row[4]}
    assert found >= {str(way.found_as) for way in WAYS}
    assert len(in_spark["quarantines"]) == len(WAYS) + 1


def test_the_odd_days_are_what_they_are(campaign: tuple[Stored, Stored]) -> None:
    _, in_spark = campaign
    found = [row[2:8] for row in in_spark["rows"] if row[0] >= ODD[0].date]
    assert found == [
        ("sé-1", "產品-ß", "Ñandú 🛒", 1, 100, 0),
        ("s1", "0042", "SOUP", HIGHEST, HIGHEST, 0),
        ("s1", "0042", "SOUP", 4, -1000, 0),
        ("s1", "0042", "SOUP", 2, -500, 0),
    ]
    days = {row[0]: row[2:4] for row in in_spark["ledger"]}
    assert days[EMPTY.date] == ("done", "current")
    assert days[FUTURE.date] == ("quarantined", "absent")
