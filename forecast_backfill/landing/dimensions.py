"""The dimensions that hold for a partition, and a version of exactly what applies to it."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date as Date
from io import BytesIO
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv
import pyarrow.parquet as pq

from forecast_backfill.arrow_arrays import booleans, one_chunk, text, texts
from forecast_backfill.core.errors import LandingIncomplete
from forecast_backfill.core.partition import Partition
from forecast_backfill.landing.layout import PRODUCT_COLUMNS, Layout
from forecast_backfill.landing.store_history import parse_stores, refuse_contradictions

NEXT_COMMAND = "forecast-backfill landing --days 91"
KEPT_PROMOTION_WEEKS = 64
"""A run walks one region over 30 dates, or 40 regions over one date: either fits."""

_NEVER = Date.max.toordinal() + 1

PROMOTION_SCHEMA = pa.schema(
    [
        ("store_id", pa.string()),
        ("product_id", pa.string()),
        ("on_display", pa.bool_()),
        ("on_mailer", pa.bool_()),
    ]
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartitionDimensions:
    """What a partition is transformed with; all ids are texts.

    `products` (product_id, demand_group, exclusion): `exclusion` is empty or the declared rule
    that leaves the product out. `promotions` (store_id, product_id, on_display, on_mailer), one
    row a key. `promotion_stores`: the stores of which the week's promotions are known; a product
    of theirs without a row was not promoted, of any other store nothing is known.
    `region_of_store` (store_id, region): every store of every region, as on the partition's date.
    While the files stay as they are the same table of products is handed out again. `version`
    covers all products, the stores of the partition's own region on its date, and its week's
    promotion file or the lack of it.
    """

    products: pa.Table
    promotions: pa.Table
    promotion_stores: pa.Array
    region_of_store: pa.Table
    version: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Loaded:
    table: pa.Table
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Stores:
    """`table` (store_id, region) row by row with the ordinals of the dates, half-open."""

    table: pa.Table
    starts: np.ndarray
    ends: np.ndarray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Promotions:
    table: pa.Table
    stores: pa.Array
    digest: str


class _FileCache(Generic[T]):
    """Parsed files by path, the oldest dropped first; a file that changed is parsed again."""

    def __init__(self, parse: Callable[[bytes], T], limit: int) -> None:
        self._parse = parse
        self._limit = limit
        self._kept: OrderedDict[Path, tuple[tuple[int, int], T]] = OrderedDict()

    def load(self, path: Path) -> T | None:
        """What the file holds, or None where there is no such file."""
        try:
            stat = path.stat()
        except FileNotFoundError:
            return None
        stamp = (stat.st_mtime_ns, stat.st_size)
        kept = self._kept.get(path)
        if kept is not None and kept[0] == stamp:
            self._kept.move_to_end(path)
            return kept[1]
        loaded = self._parse(path.read_bytes())
        self._kept[path] = (stamp, loaded)
        self._kept.move_to_end(path)
        while len(self._kept) > self._limit:
            self._kept.popitem(last=False)
        return loaded


class DimensionFiles:
    """Reads the dimension files of one landing folder."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._products = _FileCache(_parse_products, 1)
        self._stores = _FileCache(_parse_stores, 1)
        self._promotions = _FileCache(_parse_promotions, KEPT_PROMOTION_WEEKS)

    def load(self, partition: Partition) -> PartitionDimensions:
        """The dimensions of the partition.

        Raises LandingIncomplete where the product or store file is absent or unreadable, or the
        promotion file is unreadable, and DimensionRefused where a store is in two regions on one
        date; an absent promotion file means that nothing is known.
        """
        products = _needed(self._products, self._layout.product, partition)
        stores = _on_date(_needed(self._stores, self._layout.store_region, partition), partition)
        promotions = _read(self._promotions, self._layout.promotion(partition), partition)
        if promotions is None:
            promotions = _no_promotions()
        return PartitionDimensions(
            products=products.table,
            promotions=promotions.table,
            promotion_stores=promotions.stores,
            region_of_store=stores,
            version=_version(products.digest, _stores_of(stores, partition), promotions.digest),
        )


def _needed(cache: _FileCache[T], path: Path, partition: Partition) -> T:
    loaded = _read(cache, path, partition)
    if loaded is None:
        raise LandingIncomplete(
            f"the dimension {path.name} is not landed",
            why=f"there is no file {path}",
            next_command=NEXT_COMMAND,
            partition=partition,
        )
    return loaded


def _read(cache: _FileCache[T], path: Path, partition: Partition) -> T | None:
    try:
        return cache.load(path)
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0]
        raise LandingIncomplete(
            f"the dimension file {path} cannot be read",
            why=reason,
            next_command=NEXT_COMMAND,
            partition=partition,
        ) from error


def _parse_products(content: bytes) -> _Loaded:
    table = _read_texts(pa.CompressedInputStream(BytesIO(content), "gzip"), PRODUCT_COLUMNS)
    table = table.select(["product_id", "demand_group", "exclusion"])
    return _Loaded(table=table, digest=hashlib.sha256(content).hexdigest())


def _parse_stores(content: bytes) -> _Stores:
    rows = parse_stores(content)
    refuse_contradictions(rows, "store_region.csv")
    columns = {
        "store_id": texts([row.store_id for row in rows]),
        "region": texts([row.region for row in rows]),
    }
    starts = [(row.validity.start or Date.min).toordinal() for row in rows]
    ends = [row.validity.end.toordinal() if row.validity.end else _NEVER for row in rows]
    return _Stores(
        table=pa.table(columns),
        starts=np.array(starts, dtype=np.int64),
        ends=np.array(ends, dtype=np.int64),
    )


def _read_texts(source: object, columns: tuple[str, ...]) -> pa.Table:
    # Ids are texts even where they look like numbers or like a missing value.
    options = pv.ConvertOptions(
        column_types={name: pa.string() for name in columns},
        include_columns=list(columns),
        strings_can_be_null=False,
    )
    return pv.read_csv(source, convert_options=options).combine_chunks()


def _parse_promotions(content: bytes) -> _Promotions:
    names = PROMOTION_SCHEMA.names
    # Not by read_table, which loads datasets, and they pandas.
    table = pq.ParquetFile(pa.BufferReader(content)).read(columns=names)
    table = table.select(names).cast(PROMOTION_SCHEMA)
    stores = pc.unique(one_chunk(table["store_id"])).sort()
    return _Promotions(table=table, stores=stores, digest=hashlib.sha256(content).hexdigest())


def _no_promotions() -> _Promotions:
    no_texts, no_flags = texts([]), booleans(np.zeros(0, dtype=bool))
    table = pa.table([no_texts, no_texts, no_flags, no_flags], schema=PROMOTION_SCHEMA)
    return _Promotions(table=table, stores=no_texts, digest="none")


def _on_date(stores: _Stores, partition: Partition) -> pa.Table:
    """The rows that hold on the partition's date."""
    day = partition.date.toordinal()
    return stores.table.filter(booleans((stores.starts <= day) & (day < stores.ends)))


def _stores_of(stores: pa.Table, partition: Partition) -> str:
    own = stores.filter(pc.equal(stores["region"], text(partition.region)))
    names = sorted(own["store_id"].to_pylist())
    return hashlib.sha256("\n".join(names).encode()).hexdigest()


def _version(*parts: str) -> str:
    return hashlib.sha256(":".join(parts).encode()).hexdigest()[:20]
