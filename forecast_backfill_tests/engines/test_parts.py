"""A delivery of several files is judged file by file, and its totals over all of them."""

from __future__ import annotations

import pytest

from forecast_backfill.core.source import FaultCode
from forecast_backfill_tests.engines.parts import manifest_of, parts_of, source_in_parts
from forecast_backfill_tests.engines.sources import LINES, csv_of, faults_of, prepared, source_of

GOOD = parts_of()


def test_two_parts_give_the_rows_and_totals_of_one_file() -> None:
    whole = prepared(source_of(csv_of(LINES)))
    parted = prepared(source_in_parts(GOOD, manifest_of(GOOD)))
    assert parted.rows == whole.rows
    assert (parted.fingerprint, parted.totals) == (whole.fingerprint, whole.totals)
    assert parted.exclusions == whole.exclusions


def test_a_product_of_two_parts_is_one_row_and_a_basket_of_both_counts_once() -> None:
    groups = [
        ["1,b1,0007,1001,2026-03-01T09:30:00-05:00,2,3.00,0.50,0.50"],
        ["2,b1,0007,1001,2026-03-01T09:31:00-05:00,1,1.50,0.00,0.00"],
    ]
    files = parts_of(groups)
    totals = {"lines": 2, "units": 3, "revenue_cents": 450, "stores": 1}
    (row,) = prepared(source_in_parts(files, manifest_of(files, groups, **totals))).rows.to_pylist()
    assert (row["units"], row["revenue_cents"], row["baskets"]) == (3, 450, 1)


def test_the_order_in_which_a_manifest_lists_its_parts_is_free() -> None:
    manifest = manifest_of(GOOD)
    manifest["parts"].reverse()
    assert prepared(source_in_parts(GOOD, manifest)).totals.lines == 4


def test_a_fault_names_the_part_and_the_line_inside_it() -> None:
    groups = [LINES[:2], [LINES[2].replace("2.00", '"2,00"'), LINES[3]]]
    files = parts_of(groups)
    source = source_in_parts(files, manifest_of(files, groups))
    assert faults_of(source) == [(FaultCode.DECIMAL_COMMA, 2, "sales_value", "2,00")]
    assert _files(source) == ["part-0002.csv.gz"]


def test_a_part_that_is_missing_is_named() -> None:
    source = source_in_parts(GOOD[:1], manifest_of(GOOD))
    assert [fault[0] for fault in faults_of(source)] == [FaultCode.FILE_MISSING]
    assert _files(source) == ["part-0002.csv.gz"]


@pytest.mark.parametrize("name", ["part-0003.csv.gz", "sales.csv.gz"])
def test_a_file_that_the_manifest_does_not_list_is_refused(name: str) -> None:
    stray = type(GOOD[0])(name=name, content=GOOD[0].content)
    source = source_in_parts([*GOOD, stray], manifest_of(GOOD))
    assert [fault[0] for fault in faults_of(source)] == [FaultCode.FILE_AMBIGUOUS]
    assert _files(source) == [name]


def test_the_same_lines_under_two_names_are_found_by_their_ids() -> None:
    groups = (LINES[:2], LINES[:2])
    files = parts_of(groups)
    totals = {"units": 6, "revenue_cents": 850, "stores": 1}
    faults = faults_of(source_in_parts(files, manifest_of(files, groups, **totals)))
    assert faults == [
        (FaultCode.LINE_DUPLICATED, 2, "line_id", "1"),
        (FaultCode.LINE_DUPLICATED, 3, "line_id", "2"),
    ]


def test_a_part_that_is_not_the_exported_one_is_seen_by_its_hash() -> None:
    manifest = manifest_of(GOOD)
    manifest["parts"][1]["sha256"] = "0" * 64
    assert [f[0] for f in faults_of(source_in_parts(GOOD, manifest))] == [FaultCode.MANIFEST_HASH]


def test_a_part_with_another_number_of_lines_is_refused_though_the_sum_is_right() -> None:
    manifest = manifest_of(GOOD)
    manifest["parts"][0]["lines"], manifest["parts"][1]["lines"] = 1, 3
    codes = [fault[0] for fault in faults_of(source_in_parts(GOOD, manifest))]
    assert codes == [FaultCode.MANIFEST_LINES, FaultCode.MANIFEST_LINES]


def test_parts_whose_totals_are_not_those_of_the_manifest_are_refused() -> None:
    source = source_in_parts(GOOD, manifest_of(GOOD, units=8))
    assert [fault[0] for fault in faults_of(source)] == [FaultCode.MANIFEST_UNITS]


def test_parts_without_a_manifest_are_an_incomplete_delivery() -> None:
    assert [f[0] for f in faults_of(source_in_parts(GOOD, None))] == [FaultCode.MANIFEST_MISSING]


@pytest.mark.parametrize("parts", [[], {}, [1], [{"file": "part-1.csv.gz", "lines": 1}]])
def test_a_list_of_parts_that_cannot_be_read_is_a_fault_of_the_manifest(parts: object) -> None:
    source = source_in_parts(GOOD, manifest_of(GOOD, parts=parts))
    assert FaultCode.MANIFEST_SCHEMA in [fault[0] for fault in faults_of(source)]


def _files(source) -> list[str]:
    from forecast_backfill.engines.pandas_engine import prepare
    from forecast_backfill_tests.engines.sources import dimensions

    return [fault.file for fault in prepare(source, dimensions()).report.kept]
