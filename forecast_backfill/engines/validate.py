"""Judges the values of raw lines: a vectorised proof that all is good, else the exact judgement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from forecast_backfill.arrow_arrays import numbers_of, text
from forecast_backfill.core.partition import Partition
from forecast_backfill.core.source import Fault, FaultCode, FaultCollector
from forecast_backfill.engines.dimension_tables import PartitionDimensions
from forecast_backfill.engines.judge_values import judge_values
from forecast_backfill.engines.raw_lines import RawLines

_MONEY = r"^-?[0-9]{1,15}\.[0-9]{2}$"
_INTEGER = r"^-?[0-9]{1,18}$"
_CLOCK = r"[T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,9})?)?"
_OFFSET = r"(Z|[+-]([01][0-9]|2[0-3]):?[0-5][0-9])"
_LIMIT = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Good lines: codes as indices into the texts that occur, numbers as 64-bit integers.

    Money is in cents. No sum over the lines, of any of the numbers, leaves 64 bits.
    """

    stores: pa.Array
    products: pa.Array
    store: np.ndarray
    product: np.ndarray
    basket: pa.Array
    quantity: np.ndarray
    sales: np.ndarray
    retail: np.ndarray
    coupon: np.ndarray

    @property
    def count(self) -> int:
        """How many lines there are."""
        return len(self.quantity)


def validate(
    raw: RawLines, partition: Partition, dimensions: PartitionDimensions, faults: FaultCollector
) -> Lines | None:
    """The lines, or None where a value is bad: then its faults were added."""
    numbers = None
    if _codes_are_good(raw, partition, dimensions):
        numbers = _fast_numbers(raw)
    if numbers is None:
        exact = judge_values(raw, partition, dimensions.region_of_store, faults)
        if exact is None:
            return None
        numbers = [np.array(column, dtype=np.int64) for column in exact]
    if not sums_fit(numbers, raw.file, faults):
        return None
    store = raw.columns["store_id"].dictionary_encode()
    product = raw.columns["product_id"].dictionary_encode()
    return Lines(
        stores=store.dictionary,
        products=product.dictionary,
        store=numbers_of(store.indices, np.int32),
        product=numbers_of(product.indices, np.int32),
        basket=raw.columns["basket_id"],
        quantity=numbers[0],
        sales=numbers[1],
        retail=numbers[2],
        coupon=numbers[3],
    )


def _codes_are_good(raw: RawLines, partition: Partition, dimensions: PartitionDimensions) -> bool:
    """Whether codes and instants are good beyond doubt; False decides nothing."""
    columns = raw.columns
    line_id = columns["line_id"]
    if pc.count_distinct(line_id).as_py() != raw.count:
        return False
    for name in ("line_id", "basket_id", "product_id"):
        if _has_blank(columns[name]):
            return False
    mapping = dimensions.region_of_store
    own = mapping.column("store_id").filter(
        pc.equal(mapping.column("region"), text(partition.region))
    )
    if pc.is_in(columns["store_id"].unique(), value_set=own).false_count:
        return False
    pattern = f"^{partition.date.isoformat()}{_CLOCK}{_OFFSET}$"
    return _all_match(columns["sold_at"], pattern)


def _has_blank(column: pa.Array) -> bool:
    return pc.min(pc.binary_length(column)).as_py() == 0 or pc.utf8_is_space(column).true_count > 0


def _all_match(column: pa.Array, pattern: str) -> bool:
    return pc.match_substring_regex(column, pattern).false_count == 0


def _fast_numbers(raw: RawLines) -> list[np.ndarray] | None:
    """The four numbers of every line where all are in the plainest form, else None."""
    quantity = raw.columns["quantity"]
    if not _all_match(quantity, _INTEGER):
        return None
    numbers = [_integers(quantity)]
    for name in ("sales_value", "retail_discount", "coupon_discount"):
        column = raw.columns[name]
        if not _all_match(column, _MONEY):
            return None
        numbers.append(_integers(pc.replace_substring(column, ".", "")))
    return numbers


def _integers(column: pa.Array) -> np.ndarray:
    return numbers_of(column.cast(pa.int64()), np.int64)


def sums_fit(numbers: list[np.ndarray], file: str, faults: FaultCollector) -> bool:
    """Whether no sum over the lines can leave 64 bits, whatever is added to what.

    `numbers` are quantity and the three amounts of money, line by line.
    """
    quantity, *money = numbers
    if not len(quantity):
        return True
    return totals_fit(_moved([quantity]), _moved(money), file, faults)


def totals_fit(units: int, cents: int, file: str, faults: FaultCollector) -> bool:
    """Whether sums over the lines, each number taken without its sign, stay within 64 bits."""
    good = True
    for name, code, total in (
        ("quantity", FaultCode.INTEGER_OUT_OF_RANGE, units),
        ("sales_value", FaultCode.DECIMAL_OUT_OF_RANGE, cents),
    ):
        if total > _LIMIT:
            good = False
            reason = f"the sum over the lines of {name} does not fit into 64 bits"
            faults.add(Fault(code=code, file=file, column=name, value=str(total), reason=reason))
    return good


def _moved(columns: list[np.ndarray]) -> int:
    """The sum of all numbers without their signs, or less where that fits by far."""
    bound = sum(max(-int(each.min()), int(each.max())) for each in columns) * len(columns[0])
    if bound <= _LIMIT:
        return 0
    return sum(abs(value) for each in columns for value in each.tolist())
