"""The lines of several files as those of one, and whether none of them is there twice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from forecast_backfill.arrow_arrays import numbers_of
from forecast_backfill.core.source import Fault, FaultCode, FaultCollector
from forecast_backfill.engines.raw_lines import RawLines
from forecast_backfill.engines.validate import Lines


def join_parts(parts: Sequence[Lines]) -> Lines:
    """The lines of all parts; no sum over them may leave 64 bits."""
    if len(parts) == 1:
        return parts[0]
    numbers = [
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("quantity", "sales", "retail", "coupon")
    ]
    stores, store = _join_codes([(part.stores, part.store) for part in parts])
    products, product = _join_codes([(part.products, part.product) for part in parts])
    return Lines(
        stores=stores,
        products=products,
        store=store,
        product=product,
        basket=pa.concat_arrays([part.basket for part in parts]),
        quantity=numbers[0],
        sales=numbers[1],
        retail=numbers[2],
        coupon=numbers[3],
    )


def has_distinct_lines(raws: Sequence[RawLines], faults: FaultCollector) -> bool:
    """Whether no two parts hold a line of one id: within a part that was judged already."""
    columns = [raw.columns["line_id"] for raw in raws]
    joined = pa.concat_arrays(columns)
    if pc.count_distinct(joined).as_py() == len(joined):
        return True
    first_seen: dict[str, str] = {}
    for raw, column in zip(raws, columns, strict=True):
        for record, value in enumerate(column.to_pylist()):
            place = f"{raw.file}:{raw.line_of(record)}"
            before = first_seen.setdefault(value, place)
            if before != place:
                faults.add(doubled_line(raw.file, raw.line_of(record), value, before))
    return False


def doubled_line(file: str, line: int, line_id: str, before: str) -> Fault:
    """The fault of a line whose id stands in an earlier one, at `file:line`."""
    return Fault(
        code=FaultCode.LINE_DUPLICATED,
        file=file,
        line=line,
        column="line_id",
        value=line_id,
        reason=f"the line_id stands in {before} already",
    )


def _join_codes(parts: Sequence[tuple[pa.Array, np.ndarray]]) -> tuple[pa.Array, np.ndarray]:
    """One array of distinct texts, and the codes of all lines as indices into it."""
    joined = pa.concat_arrays([texts for texts, _ in parts]).dictionary_encode()
    place = numbers_of(joined.indices, np.int32)
    codes, begin = [], 0
    for texts, part in parts:
        codes.append(place[begin : begin + len(texts)][part])
        begin += len(texts)
    return joined.dictionary, np.concatenate(codes)
