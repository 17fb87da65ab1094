"""Rows in PostgreSQL's binary COPY format, encoded column by column."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from forecast_backfill.arrow_arrays import (
    binaries,
    missing_of,
    numbers_of,
    one_chunk,
    text,
    truths_of,
)

SIGNATURE = b"PGCOPY\n\xff\r\n\0" + bytes(8)
TRAILER = b"\xff\xff"
_LENGTH_BYTES = 4
_MISSING = -1
CHUNK_ROWS = 8192
"""The database works on a chunk while the next is encoded."""


def field(value: bytes) -> bytes:
    """One value after its length."""
    return struct.pack(">i", len(value)) + value


def encode_rows(
    rows: pa.Table,
    constants: Sequence[bytes],
    groups: Sequence[Sequence[str]],
    chunk_rows: int = CHUNK_ROWS,
) -> Iterator[memoryview]:
    """The rows in chunks, between signature and trailer; `constants` come first in every row.

    Each group of columns is texts or fixed-width values (64-bit integers, booleans) throughout.
    """
    count = len(constants) + sum(len(names) for names in groups)
    head = struct.pack(">h", count) + b"".join(field(value) for value in constants)
    for start in range(0, rows.num_rows, chunk_rows):
        yield _encode(rows.slice(start, chunk_rows), head, groups)


def _encode(rows: pa.Table, head: bytes, groups: Sequence[Sequence[str]]) -> memoryview:
    pieces: list[pa.Array | pa.Scalar] = [_one(head)]
    for names in groups:
        columns = [one_chunk(rows.column(name)) for name in names]
        if pa.types.is_string(columns[0].type):
            pieces += [piece for column in columns for piece in _text_fields(column)]
        else:
            pieces.append(_fixed_fields(columns))
    joined = pc.binary_join_element_wise(*pieces, _one(b""))
    offsets = np.frombuffer(joined.buffers()[1], dtype=np.int32)
    return memoryview(joined.buffers()[2])[: int(offsets[rows.num_rows])]


def _one(value: bytes) -> pa.Scalar:
    return binaries(np.frombuffer(value, dtype=np.uint8), np.array([len(value)]))[0]


def _text_fields(column: pa.Array) -> tuple[pa.Array, pa.Array]:
    length = numbers_of(pc.binary_length(column), np.int32).astype(">i4")
    if column.null_count:
        length[missing_of(column)] = _MISSING
        column = pc.fill_null(column, text(""))
    lengths = binaries(length.view(np.uint8), np.full(len(column), _LENGTH_BYTES))
    return lengths, column.cast(pa.binary())


def _fixed_fields(columns: Sequence[pa.Array]) -> pa.Array:
    """The columns' fields joined row by row."""
    blocks = [_big_endian(column) for column in columns]
    width = sum(_LENGTH_BYTES + block.shape[1] for block in blocks)
    cells = np.zeros((len(columns[0]), width), dtype=np.uint8)
    is_kept = np.ones((len(columns[0]), width), dtype=bool)
    start = 0
    for column, block in zip(columns, blocks, strict=True):
        value = start + _LENGTH_BYTES
        end = value + block.shape[1]
        cells[:, value - 1] = block.shape[1]
        cells[:, value:end] = block
        if column.null_count:
            is_missing = missing_of(column)
            cells[is_missing, start:value] = 0xFF
            is_kept[is_missing, value:end] = False
        start = end
    if not any(column.null_count for column in columns):
        return binaries(cells.reshape(-1), np.full(len(cells), width))
    return binaries(cells[is_kept], is_kept.sum(axis=1))


def _big_endian(column: pa.Array) -> np.ndarray:
    """The bytes of the values, one row each; anything where a value is missing."""
    if pa.types.is_boolean(column.type):
        return truths_of(column).view(np.uint8).reshape(-1, 1)
    return numbers_of(column, np.int64).astype(">i8").view(np.uint8).reshape(-1, 8)
