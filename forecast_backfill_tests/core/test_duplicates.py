"""The signature of double counts, and what a repair must leave behind."""

from decimal import Decimal

import pytest

from forecast_backfill.core.duplicates import Content, Copies, judge_collapse, sign


def copies(**changes):
    fields = {
        "place": ("2026-11-01", "R01"),
        "rows": 20,
        "keys": 10,
        "doubled": 10,
        "least": 2,
        "most": 2,
        "other_values": 0,
        "ties": 0,
    }
    return Copies(**{**fields, **changes})


@pytest.mark.parametrize(
    ("changes", "kind", "factor", "reason"),
    [
        ({}, "exact_multiple", 2, "every row is there 2 times"),
        (
            {"rows": 13, "doubled": 3, "least": 1},
            "extra_rows",
            None,
            "3 of 10 keys are there more than once (up to 2), with the same values",
        ),
        (
            {"other_values": 4},
            "values_differ",
            None,
            "10 of 10 keys are there more than once (up to 2), 4 with other values",
        ),
    ],
)
def test_the_signature_names_kind_and_factor(changes, kind, factor, reason):
    found = sign(copies(**changes))
    assert (found.kind, found.factor, found.reason) == (kind, factor, reason)


def test_a_partition_without_a_doubled_key_has_no_copies():
    with pytest.raises(ValueError, match="without a doubled key"):
        copies(doubled=0, most=1)


def content(rows, checksum=7, doubled=0, units="0"):
    return Content(rows=rows, checksum=checksum, doubled=doubled, sums={"units": Decimal(units)})


BEFORE, EXPECTED, REMOVED, AFTER = (
    content(4, 14, 2, "12.50"),
    content(2),
    content(2, 0, units="6.25"),
    content(2, units="6.25"),
)


def judge(**changes):
    sides = {"before": BEFORE, "expected": EXPECTED, "removed": REMOVED, "after": AFTER}
    return judge_collapse(**{**sides, **changes})


def test_survivors_and_removed_rows_make_up_what_there_was():
    assert judge() is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"after": content(2, doubled=1)}, "1 keys are still there more than once"),
        (
            {"after": content(2, 8, units="6.25")},
            "expected 2 rows to be left, found 2, or other ones",
        ),
        (
            {"removed": content(1, 0, units="6.25")},
            "of 4 rows 1 were removed and 2 are left",
        ),
        (
            {"removed": content(2, 0, units="6.24")},
            "units: 12.50 before, 6.25 left and 6.24 removed",
        ),
    ],
)
def test_anything_else_may_not_be_committed(changes, reason):
    assert judge(**changes) == reason


def test_sums_of_any_length_are_compared_exactly():
    long = "1" * 40
    sides = {
        "before": content(4, 14, 2, str(2 * int(long))),
        "removed": content(2, 0, units=long),
        "after": content(2, units=long),
    }
    assert judge(**sides) is None
    off = content(2, units=str(int(long) + 1))
    assert judge(**{**sides, "after": off}).startswith("units: ")


def test_what_is_no_number_is_not_summed():
    assert judge(before=content(4, 14, 2, "NaN")) is None
