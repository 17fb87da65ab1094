"""A delivery spread over many executors comes to what one process makes of it."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from forecast_backfill.core.outcome import Outcome, Quarantined, Written
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import Workload
from forecast_backfill.settings import Settings
from forecast_backfill.warehouse.embedded import EmbeddedServer
from forecast_backfill.wiring.batch import OpenSpark, run_batch_of
from forecast_backfill.wiring.partition import open_wiring
from forecast_backfill_tests.conformance.test_engines import (
    Stored,
    databases,
    settings_of,
    stored_in,
)
from forecast_backfill_tests.landing.hand_made import land_dimensions
from forecast_backfill_tests.landing.parts import land_in_parts
from forecast_backfill_tests.spark.servers import ConnectServer

FIRST = date(2026, 11, 2)
HALF = "46116860184273879.04"
STORES = ("s1", "s2", "sé-1", "🛒", "Z", "a")
PRODUCTS = ("0042", "產品-ß", "gas", "nobody's")


def lines_of(count: int, **changes: Any) -> list[dict[str, Any]]:
    """Lines over all stores and products, with discounts, baskets and prices that go around."""
    return [
        {
            "store_id": STORES[n % 6],
            "product_id": PRODUCTS[n % 7 % 4],
            "basket_id": f"b{n % 5}",
            "quantity": n % 4,
            "sales_value": f"{n % 3}.{n % 10}0",
            "retail_discount": f"0.{n % 2}0",
            **changes,
        }
        for n in range(count)
    ]


def manifest_changed(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """The manifest, changed."""
    manifest = json.loads((folder / "manifest.json").read_text())
    change(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))


def part_changed(folder: Path, number: int, old: str, new: str) -> None:
    """One part with a text replaced once, and its true hash in the manifest."""
    path = folder / f"part-{number:04d}.csv.gz"
    text = gzip.decompress(path.read_bytes()).decode()
    assert old in text
    path.write_bytes(gzip.compress(text.replace(old, new, 1).encode(), mtime=0))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    manifest_changed(folder, lambda each: each["parts"][number - 1].update(sha256=digest))


def land_all(landing: Path) -> Mapping[str, Partition]:
    """Deliveries in parts: good ones, and one of every kind of damage that parts can have."""
    land_dimensions(
        landing,
        products=[
            {"product_id": "0042", "demand_group": "SOUP"},
            {"product_id": "產品-ß", "demand_group": "Ñandú 🛒"},
            {"product_id": "gas", "demand_group": "ALL OTHER", "exclusion": "fuel"},
        ],
        stores=[*((store, "R01") for store in STORES), ("other", "R02")],
    )
    three = [lines_of(40), lines_of(33), lines_of(27)]
    doubled = [{"line_id": n, **line} for n, line in enumerate(lines_of(130), start=1)]
    huge = {"quantity": 1, "sales_value": HALF, "retail_discount": "0.00", "product_id": "0042"}
    free = lines_of(6, **(huge | {"sales_value": "0.00"}))
    deliveries = {
        "good": three,
        "empty part": [lines_of(40), [], lines_of(12)],
        "all left out": [lines_of(12, product_id="gas"), lines_of(12, product_id="gas")],
        "damaged": three,
        "cut": three,
        "doubled": [doubled, lines_of(20), doubled],
        "wrong total": three,
        "wrong count": three,
        "missing": three,
        "stray": three,
        "two damaged": [lines_of(120), lines_of(120)],
        "too much": [free, lines_of(1, **huge), lines_of(1, **huge)],
        "unknown": [lines_of(30, product_id="nobody's")] * 2,
    }
    days = [FIRST + timedelta(days=day) for day in range(len(deliveries))]
    places = {
        name: Partition(date=day, region="R01") for name, day in zip(deliveries, days, strict=True)
    }
    folders = {
        name: land_in_parts(landing, places[name], groups) for name, groups in deliveries.items()
    }
    part_changed(folders["damaged"], 2, ",0.00,", ',"0,00",')
    part_changed(folders["damaged"], 2, ",s2,", ",other,")
    cut = folders["cut"] / "part-0003.csv.gz"
    cut.write_bytes(cut.read_bytes()[:-20])
    manifest_changed(folders["wrong total"], lambda each: each.update(units=1))
    manifest_changed(folders["wrong count"], lambda each: each["parts"][1].update(lines=34))
    (folders["missing"] / "part-0002.csv.gz").unlink()
    (folders["stray"] / "part-0009.csv.gz").write_bytes(b"x")
    for _ in range(80):
        part_changed(folders["two damaged"], 1, ",0.00\n", ",0.001\n")
        part_changed(folders["two damaged"], 2, ",0.00\n", ",x\n")
    return places


@pytest.fixture(scope="module")
def spread(
    connect: ConnectServer,
    connected: OpenSpark,
    server: EmbeddedServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Mapping[str, tuple[Outcome, Outcome]], Stored, Stored]]:
    """By name what each became in one process and spread, and what both left in the end."""
    home = tmp_path_factory.mktemp("spread")
    places = land_all(home / "landing")
    with databases(server, ["spread_pandas", "spread_spark"]) as urls:
        pandas, spark = urls.values()
        ours = run(settings_of(pandas, home), places)
        on_spark = {"engine": "spark", "spark_master": connect.master, "spark_spread_lines": 1}
        settings = settings_of(spark, home, **on_spark)
        theirs = run(settings, places, connected)
        pairs = {name: (ours[place], theirs[place]) for name, place in places.items()}
        yield pairs, stored_in(pandas), stored_in(spark)


def run(
    settings: Settings, places: Mapping[str, Partition], opened: OpenSpark | None = None
) -> dict[Partition, Outcome]:
    """What each partition comes to, without its duration."""
    with open_wiring(settings, workload=Workload.BACKFILL, run_id="5f0c") as wiring:
        outcomes = run_batch_of(settings, opened)(
            list(places.values()), wiring.request(), wiring.ports, lambda outcome: None
        )
    return {
        each.partition: replace(each, seconds=0.0) if isinstance(each, Written) else each
        for each in outcomes
    }


EXPECTED = {
    "good": [],
    "empty part": [],
    "all left out": [],
    "damaged": ["decimal_comma", "region_foreign"],
    "cut": ["gzip_truncated", "manifest_hash"],
    "doubled": ["line_duplicated"],
    "wrong total": ["manifest_units"],
    "wrong count": ["manifest_lines"],
    "missing": ["file_missing"],
    "stray": ["file_ambiguous"],
    "two damaged": ["decimal_malformed"],
    "too much": ["decimal_out_of_range"],
    "unknown": ["product_unknown"],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_spread_delivery_comes_to_what_one_process_makes_of_it(name: str, spread: Any) -> None:
    in_process, on_executors = spread[0][name]
    assert on_executors == in_process
    if EXPECTED[name]:
        assert isinstance(on_executors, Quarantined)
        assert sorted(on_executors.report.counts) == EXPECTED[name]
    else:
        assert isinstance(on_executors, Written)


@pytest.mark.parametrize("what", ["rows", "ledger", "quarantines", "events"])
def test_spread_deliveries_leave_the_same(what: str, spread: Any) -> None:
    _, in_process, on_executors = spread
    assert on_executors[what]
    assert on_executors[what] == in_process[what]
