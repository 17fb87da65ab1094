"""Small campaigns over hand-made landing files, run in processes that can be killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import psycopg

from forecast_backfill.core.partition import Partition
from forecast_backfill.core.states import Workload
from forecast_backfill.core.version import Winner
from forecast_backfill.ports import Step
from forecast_backfill.settings import Settings, load_settings
from forecast_backfill_tests.landing.hand_made import land, land_dimensions

FIRST = date(2026, 11, 2)
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["forecast_backfill_tests.app.preload"])

PRODUCTS = [
    {"product_id": "0042", "demand_group": "SOUP", "exclusion": ""},
    {"product_id": "NA", "demand_group": "DELI", "exclusion": ""},
    {"product_id": "gas", "demand_group": "ALL OTHER", "exclusion": "fuel"},
]


def settings_for(url: str, home: Path, **changes: object) -> Settings:
    """Settings of a chain of two regions whose seam lies far in the future."""
    fields: dict[str, object] = {
        "home": home,
        "database_url": url,
        "regions": ("R01", "R02"),
        "first_date": FIRST,
        "as_of": FIRST + timedelta(days=40),
        "seam": FIRST + timedelta(days=40),
    }
    return load_settings(**{**fields, **changes})


def line(number: int, *, day: date, store: str, product: str = "0042", **changes: str) -> dict:
    """One landed line, good unless `changes` say otherwise."""
    fields = {
        "line_id": str(number),
        "basket_id": f"b{number // 2}",
        "store_id": store,
        "product_id": product,
        "sold_at": f"{day.isoformat()}T10:{number % 60:02d}:00-05:00",
        "quantity": "2",
        "sales_value": "3.98",
        "retail_discount": "0.50",
        "coupon_discount": "0.00",
    }
    return {**fields, **changes}


def good_lines(partition: Partition, *, quantity: str = "2") -> list[dict]:
    """Five lines: two products that count, one that the fuel rule leaves out."""
    store = {"R01": "s1", "R02": "s2"}[partition.region]
    products = ["0042", "NA", "0042", "gas", "NA"]
    return [
        line(number, day=partition.date, store=store, product=product, quantity=quantity)
        for number, product in enumerate(products, start=1)
    ]


def land_campaign(home: Path, partitions: Sequence[Partition], *, quantity: str = "2") -> None:
    """Land good files for `partitions`, and the dimensions."""
    landing = home / "landing"
    stores = [("s1", "R01"), ("s2", "R02")]
    land_dimensions(landing, products=PRODUCTS, stores=stores)
    for partition in partitions:
        land(landing, partition, good_lines(partition, quantity=quantity))


@dataclass(frozen=True, slots=True, kw_only=True)
class KillAt:
    """A checkpoint that kills its own process with SIGKILL at one step of one partition."""

    step: Step
    partition: Partition

    def __call__(self, step: Step, partition: Partition) -> None:
        if (step, partition) == (self.step, self.partition):
            os.kill(os.getpid(), signal.SIGKILL)


def run_campaign(
    settings: Settings,
    partitions: Sequence[Partition],
    kill_at: KillAt | None = None,
    winner: Winner | None = None,
    workload: Workload = Workload.BACKFILL,
) -> list:
    """Run the partitions as a backfill, or as nightly, in this process; the outcomes."""
    from forecast_backfill.app.run_partition import run_batch
    from forecast_backfill.wiring.partition import no_checkpoint, open_wiring

    with open_wiring(
        settings,
        workload=workload,
        run_id="5f0c",
        checkpoint=kill_at or no_checkpoint,
    ) as wiring:
        request = wiring.request(
            campaign_id="crashing", winner=winner, revision=0 if winner is None else 1
        )
        return run_batch(partitions, request, wiring.ports, tell=lambda outcome: None)


def run_campaign_for_ever(settings: Settings, partitions: Sequence[Partition]) -> None:
    """Write the partitions again and again: whenever the process is killed, it is at work."""
    from forecast_backfill.app.run_partition import run_batch
    from forecast_backfill.wiring.partition import open_wiring

    with open_wiring(settings, workload=Workload.BACKFILL, run_id="5f0c") as wiring:
        request = wiring.request(campaign_id="crashing", reprocess=True)
        while True:
            run_batch(partitions, request, wiring.ports, tell=lambda outcome: None)


def start_campaign(
    settings: Settings,
    partitions: Sequence[Partition],
    kill_at: KillAt | None = None,
    winner: Winner | None = None,
) -> multiprocessing.process.BaseProcess:
    """Run the partitions in a process of their own."""
    process = PROCESSES.Process(target=run_campaign, args=(settings, partitions, kill_at, winner))
    process.start()
    return process


def stored_rows(url: str) -> list[tuple]:
    """Every row of `daily_demand`, ordered by key."""
    with psycopg.connect(url) as connection:
        return connection.execute(
            "SELECT * FROM forecast_backfill.daily_demand"
            " ORDER BY date, region, store_id, product_id"
        ).fetchall()


def ledger_rows(url: str) -> list[tuple]:
    """(date, region, status, output, output_rows) of every partition, ordered."""
    with psycopg.connect(url) as connection:
        return connection.execute(
            "SELECT date, region, status, output, output_rows"
            " FROM forecast_backfill.partition_ledger ORDER BY date, region"
        ).fetchall()
