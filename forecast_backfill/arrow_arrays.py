"""Moves values between numpy, Python and Arrow through buffers.

pyarrow's own conversions (`pa.array`, `pa.scalar`, `to_numpy`, `empty_table`, a Python value handed
to `pc`) import pandas on first use, which costs every run a second that it has no use for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa


def integers(values: np.ndarray, is_missing: np.ndarray | None = None) -> pa.Array:
    """A 64-bit integer array; missing where the mask says so."""
    values = np.ascontiguousarray(values, dtype=np.int64)
    buffers = [_validity(is_missing), pa.py_buffer(values)]
    return pa.Array.from_buffers(pa.int64(), len(values), buffers)


def booleans(values: np.ndarray, is_missing: np.ndarray | None = None) -> pa.Array:
    """A boolean array; missing where the mask says so."""
    bits = pa.py_buffer(np.packbits(values, bitorder="little"))
    return pa.Array.from_buffers(pa.bool_(), len(values), [_validity(is_missing), bits])


def texts(values: Sequence[str]) -> pa.Array:
    """A text array without missing values."""
    encoded = [value.encode() for value in values]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int32)
    np.cumsum([len(each) for each in encoded], out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(encoded), buffers)


def binaries(content: np.ndarray, lengths: np.ndarray) -> pa.Array:
    """An array of bytes: `content` (8-bit) cut into pieces of the given lengths."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(content)]
    return pa.Array.from_buffers(pa.binary(), len(lengths), buffers)


def text(value: str) -> pa.Scalar:
    """A text scalar."""
    return texts([value])[0]


def numbers_of(column: pa.Array, kind: type[np.generic]) -> np.ndarray:
    """The values of a primitive array of the numpy type `kind`; anything where one is missing."""
    values = np.frombuffer(column.buffers()[1], dtype=kind)
    return values[column.offset : column.offset + len(column)]


def truths_of(column: pa.Array) -> np.ndarray:
    """The values of a boolean array; anything where one is missing."""
    return _bits(column, 1)


def missing_of(column: pa.Array) -> np.ndarray:
    """Where a value is missing, in an array that has a missing one."""
    return ~_bits(column, 0)


def one_chunk(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """The column as one array."""
    if isinstance(column, pa.Array):
        return column
    match column.num_chunks:
        case 0:  # To combine none, pyarrow imports pandas: a quarter of a second.
            return pa.nulls(0, column.type)
        case 1:
            return column.chunk(0)
        case _:
            return column.combine_chunks()


def _bits(column: pa.Array, buffer: int) -> np.ndarray:
    """Both are bit by bit: validity, and the values of a boolean array."""
    values = np.unpackbits(np.frombuffer(column.buffers()[buffer], np.uint8), bitorder="little")
    return values[column.offset : column.offset + len(column)].view(bool)


def _validity(is_missing: np.ndarray | None) -> pa.Buffer | None:
    if is_missing is None:
        return None
    return pa.py_buffer(np.packbits(~is_missing, bitorder="little"))
