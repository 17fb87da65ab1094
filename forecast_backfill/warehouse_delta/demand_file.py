"""One Parquet file of a partition: how it is named, what it holds, and what its footer says."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from datetime import date as Date
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from forecast_backfill.core.fingerprint import Fingerprint
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.version import Version
from forecast_backfill.ports import StreamedRows
from forecast_backfill.warehouse.copy_rows import ROW_COLUMNS, pieces_of
from forecast_backfill.warehouse_delta.told import file_told

STAMP = b"forecast_backfill"
GROUP_ROWS = 131_072
"""So many rows of what comes in pieces are held at a time, and are a row group of the file."""
_TYPES = {"store_id": pa.string(), "product_id": pa.string(), "demand_group": pa.string()}
_BOOLEANS = ("on_display", "on_mailer")
FILE_SCHEMA = pa.schema(
    [
        *(
            (name, pa.bool_() if name in _BOOLEANS else _TYPES.get(name, pa.int64()))
            for name in ROW_COLUMNS
        ),
        ("authority", pa.int16()),
        ("source_version", pa.int64()),
    ]
)
"""What a file holds: date and region are in its path."""
TABLE_SCHEMA = pa.schema([("date", pa.date32()), ("region", pa.string()), *FILE_SCHEMA])


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """What a file states of itself, in its footer and in the commit that made it current."""

    partition: Partition
    fingerprint: Fingerprint
    version: Version

    @property
    def fields(self) -> dict[str, str | int]:
        """As JSON has it; what may be larger than a double can hold is text."""
        return {
            "date": self.partition.date.isoformat(),
            "region": self.partition.region,
            "data_version": self.fingerprint.data_version,
            **{name: str(value) for name, value in asdict(self.fingerprint).items()},
            "authority": int(self.version.authority),
            "source_version": str(self.version.source_version),
        }

    @property
    def text(self) -> str:
        """As JSON, the same for the same content."""
        return json.dumps(self.fields)


def folder_of(partition: Partition) -> str:
    """The partition's folder under the table's."""
    return f"date={partition.date.isoformat()}/region={partition.region}"


def partition_of(file: Path) -> Partition:
    """The partition whose folder the file lies in. Raises ValueError outside of such a folder."""
    date, region = (part.partition("=")[2] for part in file.parts[-3:-1])
    return Partition(date=Date.fromisoformat(date), region=region)


def home_of(file: Path) -> Partition | None:
    """The partition whose folder the file lies in; None for a foreign file outside of them."""
    try:
        return partition_of(file)
    except ValueError:
        return None


def data_version_of(file: Path) -> str:
    """The content's data version, which the file's name begins with."""
    return file.name.partition("-")[0]


def write_file(
    directory: Path,
    rows: pa.Table | StreamedRows,
    stamp: Stamp,
    name: str,
    look: Callable[[], object] = lambda: None,
) -> Path:
    """Write `rows` as a file that no reader knows yet; it is on the disk afterwards.

    What comes in pieces is written as it comes. `look` is asked at each; what it raises ends the
    writing, as does what the rows raise, and then nothing is left of the file. Raises
    WarehouseRefused where the disk does not take it.
    """
    folder = directory / folder_of(stamp.partition)
    file = folder / f"{stamp.fingerprint.data_version}-{name}.parquet"
    schema = FILE_SCHEMA.with_metadata({STAMP: stamp.text.encode()})
    with ExitStack() as undo:
        told = partial(file_told, directory, stamp.partition)
        with told():
            folder.mkdir(parents=True, exist_ok=True)
            writer = pq.ParquetWriter(file, schema, compression="zstd")
        undo.callback(file.unlink, missing_ok=True)
        undo.callback(_close, writer)
        for table in _gathered(pieces_of(rows), look):
            piece = _with_version(table, stamp).cast(schema)
            with told():
                writer.write_table(piece)
        with told():
            writer.close()
            sync([file, folder])
        undo.pop_all()
    return file


def _close(writer: pq.ParquetWriter) -> None:
    # Of a file that is given up: what cannot be written any more does not matter.
    with suppress(OSError, pa.ArrowException):
        writer.close()


def _gathered(pieces: Iterable[pa.Table], look: Callable[[], object]) -> Iterator[pa.Table]:
    held: list[pa.Table] = []
    for piece in pieces:
        look()
        held.append(piece)
        if sum(each.num_rows for each in held) >= GROUP_ROWS:
            yield pa.concat_tables(held)
            held.clear()
    if held:
        yield pa.concat_tables(held)


def read_stamp(file: Path, key: bytes = STAMP) -> str | None:
    """What the file's footer states under `key`; None where it does not, or cannot be read."""
    try:
        metadata = pq.read_metadata(file).metadata or {}
    except (OSError, pa.ArrowException):
        return None
    stamp = metadata.get(key)
    return None if stamp is None else stamp.decode(errors="replace")


def rows_of(file: Path) -> int:
    """The rows of a file by its footer; 0 where the file is gone or has none."""
    try:
        rows: int = pq.read_metadata(file).num_rows
    except (OSError, pa.ArrowException):
        return 0
    return rows


def is_whole(file: Path) -> bool:
    """Whether the file is there and can be read to its end: all of it is."""
    try:
        with pq.ParquetFile(file) as opened:
            for _ in opened.iter_batches():
                pass
    except (OSError, pa.ArrowException):
        return False
    return True


def sync(paths: Sequence[Path]) -> None:
    """Wait until files and folders are on the disk: the ledger will speak of them."""
    for path in paths:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _with_version(rows: pa.Table, stamp: Stamp) -> pa.Table:
    count, version = rows.num_rows, stamp.version
    columns = [rows.column(name) for name in ROW_COLUMNS]
    columns.append(pa.array([int(version.authority)] * count, pa.int16()))
    columns.append(pa.array([version.source_version] * count, pa.int64()))
    return pa.table(dict(zip(FILE_SCHEMA.names, columns, strict=True)))
