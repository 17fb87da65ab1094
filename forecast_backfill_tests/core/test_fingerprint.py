"""The canonical text, the row hash and the fingerprint."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forecast_backfill.core.fingerprint import Fingerprint, canonical_text, row_hash

VALUE = st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.text(max_size=9))
ROW = st.lists(VALUE, min_size=1, max_size=5)


def test_each_value_is_its_text_after_its_length_in_characters() -> None:
    values = ("2026-03-01", "R01", "é€", "", None, -12, True, False)
    assert canonical_text(values) == "10:2026-03-013:R012:é€0:-3:-121:11:0"


def test_the_row_hash_is_the_first_fifteen_digits_of_the_md5() -> None:
    # md5 of "3:abc1:7-" begins so, says md5sum.
    assert row_hash(("abc", 7, None)) == 0xC8672F13B9EEC07


def test_a_border_between_values_cannot_move() -> None:
    assert canonical_text(("a", "bc")) != canonical_text(("ab", "c"))


def test_a_missing_value_is_not_an_empty_one() -> None:
    assert canonical_text((None,)) != canonical_text(("",))
    assert canonical_text((None,)) != canonical_text(("-",))


@given(ROW, ROW)
def test_two_rows_with_the_same_text_are_the_same_row(
    one: list[object], other: list[object]
) -> None:
    # A boolean and its digit are one value, as are 7 and "7": columns have types.
    same = [_plain(value) for value in one] == [_plain(value) for value in other]
    assert (canonical_text(one) == canonical_text(other)) == same


def _plain(value: object) -> str | None:
    if value is None:
        return None
    return str(int(value)) if isinstance(value, bool) else str(value)


@given(st.lists(VALUE, min_size=2, max_size=6), st.data())
def test_swapping_two_different_values_changes_the_hash(
    row: list[object], data: st.DataObject
) -> None:
    first = data.draw(st.integers(0, len(row) - 2))
    swapped = [*row[:first], row[first + 1], row[first], *row[first + 2 :]]
    same = _plain(row[first]) == _plain(row[first + 1])
    assert (row_hash(row) == row_hash(swapped)) == same


def test_the_data_version_is_of_the_content() -> None:
    one = Fingerprint(rows=1, checksum=5, units=2, revenue_cents=3, stores=1, products=1)
    other = Fingerprint(rows=1, checksum=6, units=2, revenue_cents=3, stores=1, products=1)
    assert one.data_version == "e45757544925b0c17c60"
    assert other.data_version != one.data_version


@pytest.mark.parametrize("field", ["rows", "checksum", "stores", "products"])
def test_a_negative_count_is_refused(field: str) -> None:
    fields = {"rows": 1, "checksum": 1, "units": -1, "revenue_cents": -1, "stores": 1}
    with pytest.raises(ValueError, match="not negative"):
        Fingerprint(**(fields | {"products": 1} | {field: -1}))
