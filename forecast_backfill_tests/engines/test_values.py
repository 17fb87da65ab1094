"""Every fault of a value is found with its line, column and value."""

from __future__ import annotations

import pytest

from forecast_backfill.core.source import FaultCode
from forecast_backfill.engines.pandas_engine import prepare
from forecast_backfill_tests.engines.sources import (
    HEADER,
    LINES,
    changed,
    csv_of,
    dimensions,
    faults_of,
    prepared,
    source_of,
)

DAY = "2026-03-01"


@pytest.mark.parametrize(
    ("line", "old", "new", "code", "column", "value"),
    [
        (3, "2,b1", ",b1", "value_missing", "line_id", ""),
        (3, "2,b1", "2,", "value_missing", "basket_id", ""),
        (3, ",NA,", ",,", "value_missing", "product_id", ""),
        (3, ",NA,", ",  ,", "value_blank", "product_id", "  "),
        (2, "0007", "", "value_missing", "store_id", ""),
        (2, "0007", " ", "value_blank", "store_id", " "),
        (2, ",2,", ",,", "value_missing", "quantity", ""),
        (2, ",2,", ",2.0,", "integer_malformed", "quantity", "2.0"),
        (2, ",2,", ",2e0,", "integer_malformed", "quantity", "2e0"),
        (2, ",2,", ", 2,", "integer_malformed", "quantity", " 2"),
        (2, ",2,", ",0x2,", "integer_malformed", "quantity", "0x2"),
        (2, ",2,", ",٢,", "integer_malformed", "quantity", "٢"),
        (2, ",2,", ",nan,", "integer_malformed", "quantity", "nan"),
        (2, ",2,", f",{2**63},", "integer_out_of_range", "quantity", str(2**63)),
        (2, "3.00", "3.001", "decimal_malformed", "sales_value", "3.001"),
        (2, "3.00", "3e2", "decimal_malformed", "sales_value", "3e2"),
        (2, "3.00", "$3.00", "decimal_malformed", "sales_value", "$3.00"),
        (2, "3.00", '"3,00"', "decimal_comma", "sales_value", "3,00"),
        (2, "3.00", '"1,003.00"', "decimal_comma", "sales_value", "1,003.00"),
        (2, "3.00", '"1.003,00"', "decimal_comma", "sales_value", "1.003,00"),
        (2, "3.00", "1 003.00", "decimal_comma", "sales_value", "1 003.00"),
        (2, "3.00", "3" * 18 + ".00", "decimal_out_of_range", "sales_value", "3" * 18 + ".00"),
        (2, f"{DAY}T09:30:00-05:00", DAY, "timestamp_malformed", "sold_at", DAY),
        (
            *(2, "09:30:00-05:00", "09:30:00", "timestamp_malformed"),
            *("sold_at", f"{DAY}T09:30:00"),
        ),
        (2, "T09:30", "T24:30", "timestamp_malformed", "sold_at", f"{DAY}T24:30:00-05:00"),
        (2, DAY, "2026-02-30", "timestamp_malformed", "sold_at", "2026-02-30T09:30:00-05:00"),
        (2, DAY, "2026-03-02", "date_outside", "sold_at", "2026-03-02T09:30:00-05:00"),
        (2, "0007", "0009", "region_foreign", "store_id", "0009"),
        (2, "0007", "7", "store_unknown", "store_id", "7"),
        (4, "3,b2", "1,b2", "line_duplicated", "line_id", "1"),
    ],
)
def test_a_bad_value_is_reported_with_its_line_column_and_value(
    line: int, old: str, new: str, code: str, column: str, value: str
) -> None:
    assert (FaultCode(code), line, column, value) in faults_of(source_of(changed(line, old, new)))


def test_a_line_of_the_local_day_is_accepted_though_it_falls_on_the_next_day_in_utc() -> None:
    content = changed(5, "21:15:00-05:00", "23:59:59-05:00")
    assert prepared(source_of(content)).totals.lines == 4


def test_a_header_repeated_inside_the_file_is_refused() -> None:
    content = csv_of((*LINES[:2], HEADER, *LINES[2:]))
    assert faults_of(source_of(content))[0][:2] == (FaultCode.HEADER_REPEATED, 4)


def test_the_first_hundred_faults_are_kept_and_all_are_counted() -> None:
    lines = [f"{number},b,0007,1001,never,1,1.00,0.00,0.00" for number in range(250)]
    result = prepare(source_of(csv_of(lines), lines=250), dimensions())
    assert len(result.report.kept) == 100
    assert result.report.counts == {FaultCode.TIMESTAMP_MALFORMED: 250}
    assert result.report.kept[0].line == 2


def test_a_sum_of_quantities_beyond_64_bits_is_refused_and_does_not_wrap() -> None:
    big = f",{2**62},"
    lines = [LINES[0].replace(",2,", big), LINES[2].replace(",1,", big), LINES[3]]
    codes = [fault[0] for fault in faults_of(source_of(csv_of(lines), lines=3))]
    assert codes == [FaultCode.INTEGER_OUT_OF_RANGE]


def test_a_sum_of_money_beyond_64_bits_is_refused_and_does_not_wrap() -> None:
    big = f"{2**62 // 100}.00"
    lines = [line.replace("3.00", big).replace("2.00", big) for line in LINES]
    assert faults_of(source_of(csv_of(lines)))[0][0] is FaultCode.DECIMAL_OUT_OF_RANGE


def test_a_sign_fewer_decimals_and_leading_zeros_are_numbers() -> None:
    content = changed(2, ",2,3.00,0.50,", ",+02,3,0.5,")
    assert prepared(source_of(content)).totals.revenue_cents == 1125


def test_codes_that_look_like_missing_values_or_numbers_stay_text() -> None:
    rows = prepared(source_of(csv_of(LINES))).rows
    assert rows.column("product_id").to_pylist() == ["1001", "NA", "1001"]
    assert rows.column("store_id").to_pylist() == ["0007", "0007", "0008"]
