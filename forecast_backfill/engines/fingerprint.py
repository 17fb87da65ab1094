"""Row hashes and fingerprint of a whole table at once, equal to core/fingerprint.py row by row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from forecast_backfill.arrow_arrays import one_chunk, text, texts
from forecast_backfill.core.fingerprint import CHECKSUM_COLUMNS, Fingerprint, canonical_text
from forecast_backfill.core.partition import Partition

try:
    # The same function as hashlib.md5 without OpenSSL's overhead, which doubles the time that a
    # short text takes.
    from _md5 import md5
except ImportError:  # a Python without its own implementation
    from hashlib import md5

_PREFIXES = texts([f"{length}:" for length in range(256)])
_EMPTY, _COLON, _MISSING = text(""), text(":"), text("-")
_TRUE, _FALSE = text("1:1"), text("1:0")
_CONSTANTS = ("date", "region")


def row_hashes(rows: pa.Table, partition: Partition) -> np.ndarray:
    """The row hash of every row; `rows` has the columns of CHECKSUM_COLUMNS but date and region."""
    if not rows.num_rows:
        return np.zeros(0, dtype=np.int64)
    pieces: list[pa.Array | pa.Scalar] = [
        text(canonical_text((partition.date.isoformat(), partition.region)))
    ]
    for name in CHECKSUM_COLUMNS:
        if name not in _CONSTANTS:
            pieces.extend(_encode(one_chunk(rows.column(name))))
    joined = pc.binary_join_element_wise(*pieces, _EMPTY).cast(pa.binary()).to_pylist()
    digests = b"".join([md5(each).digest() for each in joined])
    # 15 hexadecimal digits are the 60 highest bits of the digest.
    return (np.frombuffer(digests, dtype=">u8")[::2] >> np.uint64(4)).astype(np.int64)


def fingerprint_of(rows: pa.Table, hashes: np.ndarray) -> Fingerprint:
    """The fingerprint of the rows; their sums must fit into 64 bits."""
    # In two halves, because the sum of 60-bit hashes does not fit into 64 bits.
    low, high = hashes & 0x3FFFFFFF, hashes >> 30
    return Fingerprint(
        rows=rows.num_rows,
        checksum=(int(high.sum()) << 30) + int(low.sum()),
        units=pc.sum(rows.column("units")).as_py() or 0,
        revenue_cents=pc.sum(rows.column("revenue_cents")).as_py() or 0,
        stores=pc.count_distinct(rows.column("store_id")).as_py(),
        products=pc.count_distinct(rows.column("product_id")).as_py(),
    )


def _encode(column: pa.Array) -> list[pa.Array]:
    """Arrays of text which, joined row by row, are the values as canonical_text writes them."""
    if pa.types.is_boolean(column.type):
        encoded = pc.if_else(column, _TRUE, _FALSE)
        return [pc.fill_null(encoded, _MISSING) if column.null_count else encoded]
    written = column.cast(pa.string())
    prefix = _prefix(written)
    if not column.null_count:
        return [prefix, written]
    return [pc.fill_null(prefix, _MISSING), pc.fill_null(written, _EMPTY)]


def _prefix(written: pa.Array) -> pa.Array:
    """The length in characters and a colon; missing where the text is."""
    length = pc.utf8_length(written)
    if (pc.max(length).as_py() or 0) < len(_PREFIXES):
        return _PREFIXES.take(length)
    return pc.binary_join_element_wise(length.cast(pa.string()), _COLON, _EMPTY)
