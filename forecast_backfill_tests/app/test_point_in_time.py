"""Today's change of a dimension leaves every older partition exactly as it was."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from forecast_backfill.app.load_dimensions import load_dimensions
from forecast_backfill.app.run_partition import run_batch
from forecast_backfill.core.partition import DateRange, Partition, partitions_of
from forecast_backfill.core.states import Workload
from forecast_backfill.wiring.dimension import dimension_ports
from forecast_backfill.wiring.partition import Wiring, open_wiring
from forecast_backfill_tests.app.campaigns import FIRST, land_campaign, line, settings_for
from forecast_backfill_tests.landing.hand_made import (
    land,
    land_dimensions,
    land_prices,
    land_promotions,
)

OLD = DateRange(start=FIRST, end=FIRST + timedelta(days=2))
TODAY = FIRST + timedelta(days=14)
NEXT_MONDAY = TODAY + timedelta(days=7)
PARTITIONS = list(partitions_of(OLD, ["R01", "R02"]))
PRODUCTS = [
    {"product_id": "0042", "demand_group": "SOUP"},
    {"product_id": "NA", "demand_group": "DELI"},
    {"product_id": "gas", "demand_group": "ALL OTHER", "exclusion": "fuel"},
]
FIRST_PRICE = ("0042", "224", FIRST.isoformat(), "", "2026-10-31T12:00:00+00:00")


@pytest.fixture
def wiring(database_url: str, tmp_path: Path) -> Iterator[Wiring]:
    """Two old days, written, with their dimensions loaded."""
    land_campaign(tmp_path, PARTITIONS)
    land_prices(tmp_path / "landing", [FIRST_PRICE])
    land_promotions(tmp_path / "landing", FIRST, "R01", [("s1", "0042", True, False)])
    settings = settings_for(database_url, tmp_path)
    with open_wiring(settings, workload=Workload.BACKFILL, run_id="5f0c") as opened:
        _load(opened)
        assert _run(opened) == ["Written"] * 4
        yield opened


def _load(wiring: Wiring) -> None:
    ports = dimension_ports(wiring.settings, wiring.session)
    dates = DateRange(start=FIRST, end=NEXT_MONDAY)
    load_dimensions(dates, regions=wiring.settings.regions, ports=ports)


def _run(
    wiring: Wiring, partitions: list[Partition] = PARTITIONS, *, reprocess: bool = False
) -> list[str]:
    request = wiring.request(campaign_id="spring", reprocess=reprocess)
    outcomes = run_batch(partitions, request, wiring.ports, lambda outcome: None)
    return [type(each).__name__ for each in outcomes]


def _stored(url: str) -> list[str]:
    """Every stored row of the old partitions with the price of its date, and what it is called."""
    with psycopg.connect(url, options="-c search_path=forecast_backfill") as connection:
        rows = connection.execute(
            "SELECT row::text FROM daily_demand_at_shelf_price AS row WHERE date < %s"
            " UNION ALL SELECT (date, region, output_checksum, output_data_version,"
            " output_dimension_version)::text FROM partition_ledger WHERE date < %s ORDER BY 1",
            (OLD.end, OLD.end),
        ).fetchall()
    return [row[0] for row in rows]


def _change_today(landing: Path) -> None:
    """A store moves today, a price and promotions change from next Monday."""
    today, monday = TODAY.isoformat(), NEXT_MONDAY.isoformat()
    stores = [("s1", "R01", "", today), ("s1", "R02", today, ""), ("s2", "R02", "", "")]
    land_dimensions(landing, products=PRODUCTS, stores=stores)
    recorded = f"{TODAY + timedelta(days=5)}T12:00:00+00:00"
    product, cents, start, _, at = FIRST_PRICE
    land_prices(
        landing, [(product, cents, start, monday, at), (product, "999", monday, "", recorded)]
    )
    land_promotions(landing, NEXT_MONDAY, "R01", [("s1", "0042", False, True)])


def test_rebuilding_an_old_partition_after_todays_change_gives_the_same_bytes(
    wiring: Wiring, database_url: str
):
    before = _stored(database_url)
    assert len(before) == 8 + 4
    _change_today(wiring.settings.landing_directory)
    _load(wiring)
    assert _run(wiring, reprocess=True) == ["Written"] * 4
    assert _stored(database_url) == before


def test_todays_change_makes_no_old_partition_due(wiring: Wiring):
    _change_today(wiring.settings.landing_directory)
    assert _run(wiring) == ["Unchanged"] * 4


def test_a_moved_stores_delivery_is_good_where_it_is_now_and_refused_where_it_was(
    wiring: Wiring,
):
    landing = wiring.settings.landing_directory
    _change_today(landing)
    partitions = list(
        partitions_of(DateRange(start=TODAY, end=TODAY + timedelta(days=1)), ["R01", "R02"])
    )
    for partition in partitions:
        land(landing, partition, [line(1, day=TODAY, store="s1")])
    assert _run(wiring, partitions) == ["Quarantined", "Written"]


def test_a_change_that_reaches_back_makes_its_old_partitions_due(wiring: Wiring):
    """The other way round: what held then was corrected, so those partitions are built again."""
    landing = wiring.settings.landing_directory
    land_promotions(landing, FIRST, "R01", [("s1", "0042", True, True)])
    assert _run(wiring) == ["Written", "Unchanged", "Written", "Unchanged"]
