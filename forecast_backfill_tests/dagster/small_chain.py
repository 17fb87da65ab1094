"""A chain of four regions over three days, two of its twelve deliveries damaged."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

from forecast_backfill.core.partition import Partition
from forecast_backfill_tests.landing.hand_made import land, land_dimensions

REGIONS = ("R01", "R02", "R03", "R04")
DAYS = (date(2026, 3, 2), date(2026, 3, 3), date(2026, 3, 4))
AS_OF = date(2026, 3, 5)
COMMA = Partition(date=DAYS[1], region="R02")
UNMANIFESTED = Partition(date=DAYS[2], region="R04")
DAMAGED = (COMMA, UNMANIFESTED)
ALL = tuple(Partition(date=day, region=region) for day in DAYS for region in REGIONS)
GOOD = tuple(each for each in ALL if each not in DAMAGED)


def environment(home: Path, dagster_home: Path) -> dict[str, str]:
    """The settings of the chain as environment variables."""
    return {
        "DAGSTER_HOME": str(dagster_home),
        "FORECAST_BACKFILL_HOME": str(home),
        "FORECAST_BACKFILL_REGIONS": ",".join(REGIONS),
        "FORECAST_BACKFILL_FIRST_DATE": DAYS[0].isoformat(),
        "FORECAST_BACKFILL_AS_OF": AS_OF.isoformat(),
        "FORECAST_BACKFILL_BATCH_SIZE": "5",
    }


def store_of(region: str) -> str:
    """The one store of a region."""
    return f"s{region}"


def lines_of(partition: Partition) -> list[dict[str, str]]:
    """Two products, three lines: 4 pieces for 6.00 in all."""
    store = store_of(partition.region)
    return [
        {"store_id": store, "product_id": "0042", "quantity": "1", "sales_value": "1.50"},
        {"store_id": store, "product_id": "0042", "quantity": "2", "sales_value": "3.00"},
        {"store_id": store, "product_id": "NA", "quantity": "1", "sales_value": "1.50"},
    ]


def land_chain(landing: Path) -> None:
    """Land everything, then damage two deliveries."""
    land_dimensions(
        landing,
        products=[{"product_id": "0042"}, {"product_id": "NA"}],
        stores=[(store_of(region), region) for region in REGIONS],
    )
    for partition in ALL:
        land(landing, partition, lines_of(partition))
    damage(landing)


def damage(landing: Path) -> None:
    """A decimal comma in the third line of one file; the other delivery's manifest is missing."""
    lines = lines_of(COMMA)
    lines[1]["sales_value"] = '"3,00"'
    land(landing, COMMA, lines, manifest_overrides={"revenue_cents": 600})
    (land(landing, UNMANIFESTED, lines_of(UNMANIFESTED)) / "manifest.json").unlink()


def repair(landing: Path, partition: Partition) -> None:
    """Deliver the partition again, without fault."""
    land(landing, partition, lines_of(partition))


AFTER_LAST = DAYS[-1] + timedelta(days=1)
