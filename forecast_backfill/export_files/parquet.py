"""One exported Parquet file: written in equal row groups, stamped, and read back from the disk."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from forecast_backfill.core.fingerprint import Fingerprint
from forecast_backfill.core.partition import Partition
from forecast_backfill.engines.fingerprint import fingerprint_of, row_hashes
from forecast_backfill.warehouse.exported import EXPORT_SCHEMA
from forecast_backfill.warehouse_delta import demand_file

STAMP = b"forecast_backfill_export"
GROUP_ROWS = 65_536
"""Rows of a row group, and the most that are held: the file's bytes go by the rows alone."""


def write_rows(file: Path, stamp: str, pieces: Iterable[pa.Table]) -> None:
    """Write the rows as they come. Raises OSError."""
    schema = EXPORT_SCHEMA.with_metadata({STAMP: stamp.encode()})
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for group in _groups(pieces):
            writer.write_table(group.cast(schema), row_group_size=GROUP_ROWS)


def stamp_of(partition: Partition, fingerprint: Fingerprint) -> str:
    """What the footer of the partition's file says, the same for the same content."""
    fields = {
        "date": partition.date.isoformat(),
        "region": partition.region,
        "data_version": fingerprint.data_version,
        # As text: a checksum may be larger than a double can hold.
        **{name: str(value) for name, value in asdict(fingerprint).items()},
    }
    return json.dumps(fields)


def read_stamp(file: Path) -> str | None:
    """What the footer says; None where there is no such file, or it is broken or not ours."""
    return demand_file.read_stamp(file, STAMP)


def read_fingerprint(file: Path, partition: Partition) -> Fingerprint | None:
    """What the file holds, recomputed from its columns; None where it cannot be read."""
    try:
        with pq.ParquetFile(file) as opened:
            if opened.schema_arrow.names != EXPORT_SCHEMA.names:
                return None
            return _fingerprint(opened, partition)
    except (OSError, pa.ArrowException):
        return None


def _fingerprint(opened: pq.ParquetFile, partition: Partition) -> Fingerprint:
    sums = dict.fromkeys(("rows", "checksum", "units", "revenue_cents"), 0)
    stores: set[str] = set()
    products: set[str] = set()
    for batch in opened.iter_batches(GROUP_ROWS):
        rows = pa.Table.from_batches([batch]).cast(EXPORT_SCHEMA)
        part = asdict(fingerprint_of(rows, row_hashes(rows, partition)))
        sums = {name: value + part[name] for name, value in sums.items()}
        stores.update(pc.unique(rows.column("store_id")).to_pylist())
        products.update(pc.unique(rows.column("product_id")).to_pylist())
    return Fingerprint(**sums, stores=len(stores), products=len(products))


def _groups(pieces: Iterable[pa.Table]) -> Iterator[pa.Table]:
    held = EXPORT_SCHEMA.empty_table()
    for piece in pieces:
        held = pa.concat_tables([held, piece])
        while held.num_rows >= GROUP_ROWS:
            yield held.slice(0, GROUP_ROWS).combine_chunks()
            held = held.slice(GROUP_ROWS)
    if held.num_rows:
        yield held.combine_chunks()
