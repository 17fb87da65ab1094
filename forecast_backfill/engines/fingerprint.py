"""Row hashes and fingerprint of a whole table at once, equal to core/fingerprint.py row by row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from forecast_backfill.core.fingerprint import CHECKSUM_COLUMNS, Fingerprint, canonical_text
from forecast_backfill.core.partition import Partition

try:
    # The same function as hashlib.md5 without OpenSSL's overhead, which doubles the time of short
    # texts.
    from _md5 import md5
except ImportError:  # a Python without its own implementation
    from hashlib import md5

_PREFIXES = pa.array([f"{length}:" for length in range(21)])
_CONSTANTS = ("date", "region")


def row_hashes(rows: pa.Table, partition: Partition) -> np.ndarray:
    """The row hash of every row; `rows` has the columns of CHECKSUM_COLUMNS but date and region."""
    if not rows.num_rows:
        return np.zeros(0, dtype=np.int64)
    pieces: list[pa.Array | str] = [canonical_text((partition.date.isoformat(), partition.region))]
    for name in CHECKSUM_COLUMNS:
        if name not in _CONSTANTS:
            pieces.extend(_encode(rows.column(name).combine_chunks()))
    texts = pc.binary_join_element_wise(*pieces, "").cast(pa.binary()).to_pylist()
    digests = b"".join([md5(text).digest() for text in texts])
    # 15 hexadecimal digits are the 60 highest bits of the digest.
    return (np.frombuffer(digests, dtype=">u8")[::2] >> np.uint64(4)).astype(np.int64)


def fingerprint_of(rows: pa.Table, hashes: np.ndarray) -> Fingerprint:
    """The fingerprint of the rows; their sums must fit into 64 bits."""
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
    kind = column.type
    if pa.types.is_boolean(kind):
        return [_or_missing(column, pc.if_else(column, "1:1", "1:0"))]
    if pa.types.is_string(kind):
        found = column.dictionary_encode()
        encoded = pa.array([canonical_text((each,)) for each in found.dictionary.to_pylist()])
        return [_or_missing(column, encoded.cast(pa.string()).take(found.indices))]
    text = column.cast(pa.string())
    prefix = _PREFIXES.take(pc.binary_length(text))
    if not column.null_count:
        return [prefix, text]
    return [_or_missing(column, prefix), pc.fill_null(text, "")]


def _or_missing(column: pa.Array, encoded: pa.Array) -> pa.Array:
    return pc.fill_null(encoded, "-") if column.null_count else encoded
