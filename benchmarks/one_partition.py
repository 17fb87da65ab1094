"""Lands one made-up partition of a given number of rows, with its dimensions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from forecast_backfill.arrow_arrays import booleans, texts
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.source import LINE_COLUMNS, ControlTotals
from forecast_backfill.landing.delivery import manifest_bytes, manifest_fields, pack, place
from forecast_backfill.landing.layout import PRODUCT_COLUMNS, STORE_REGION_COLUMNS, Layout

PARTITION = Partition(date=date(2026, 11, 1), region="R07")
PRODUCTS = [str(1_000_000 + number * 7) for number in range(500)]
STORES = [str(300 + number) for number in range(100)]


def land_dimensions(directory: Path) -> None:
    """500 products, 100 stores, and promotions of two thirds of the stores."""
    layout = Layout(directory=directory)
    products = [f"{each},GROCERY,MILK,FLUID MILK PRODUCTS," for each in PRODUCTS]
    place(layout.product, pack(_csv(PRODUCT_COLUMNS, products)))
    stores = [f"{each},{PARTITION.region}" for each in STORES]
    place(layout.store_region, _csv(STORE_REGION_COLUMNS, stores))
    facts = [(store, product) for store in STORES[::3] + STORES[1::3] for product in PRODUCTS[::3]]
    is_on = np.arange(len(facts)) % 2 == 0
    promotions = pa.table(
        {
            "store_id": texts([store for store, _ in facts]),
            "product_id": texts([product for _, product in facts]),
            "on_display": booleans(is_on),
            "on_mailer": booleans(~is_on),
        }
    )
    path = layout.promotion(PARTITION)
    path.parent.mkdir(parents=True)
    pq.write_table(promotions, path)


def land_sales(directory: Path, rows: int, seed: int, partition: Partition = PARTITION) -> None:
    """Lines that make `rows` rows, the same ones with other numbers for another seed."""
    layout = Layout(directory=directory)
    dice = Random(seed)
    lines = list(_lines(rows, dice, partition))
    content = pack(_csv(LINE_COLUMNS, [",".join(line) for line in lines]))
    totals = ControlTotals(
        lines=len(lines),
        units=sum(int(line[5]) for line in lines),
        revenue_cents=sum(int(line[6].replace(".", "")) for line in lines),
        stores=len({line[2] for line in lines}),
    )
    path = layout.partition(partition) / "sales.csv.gz"
    place(path, content)
    fields = manifest_fields(partition, file=path.name, content=content, totals=totals)
    place(layout.manifest(partition), manifest_bytes(fields))


def _lines(rows: int, dice: Random, partition: Partition) -> Iterator[tuple[str, ...]]:
    """Each product of each store once, and every tenth of them twice."""
    for number in range(rows + rows // 10):
        row = number if number < rows else (number - rows) * 10
        quantity, cents = dice.choice((1, 1, 1, 2, 3)), dice.randrange(50, 3000)
        discount = dice.choice((0, 0, dice.randrange(100)))
        yield (
            str(number),
            f"b{dice.randrange(rows)}",
            STORES[row // len(PRODUCTS)],
            PRODUCTS[row % len(PRODUCTS)],
            f"{partition.date.isoformat()}T10:{number % 60:02d}:00-05:00",
            str(quantity),
            f"{cents // 100}.{cents % 100:02d}",
            f"{discount // 100}.{discount % 100:02d}",
            "0.00",
        )


def _csv(names: tuple[str, ...], rows: list[str]) -> bytes:
    return "".join(f"{row}\n" for row in [",".join(names), *rows]).encode()
