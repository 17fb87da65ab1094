"""Faults of the file as a whole: bytes, encoding, header, structure, manifest."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import pytest

from forecast_backfill.core.source import FaultCode
from forecast_backfill.engines.pandas_engine import prepare
from forecast_backfill.ports import LandedFile
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

GOOD = csv_of(LINES)
TWICE = b'{"lines": 4, "lines": 5}'


def _codes(source: object) -> list[str]:
    return [str(fault[0]) for fault in faults_of(source)]


def test_a_missing_file_is_refused() -> None:
    assert _codes(source_of(None)) == ["file_missing"]


def test_a_file_of_zero_bytes_is_refused() -> None:
    assert _codes(source_of(b"")) == ["file_zero_bytes"]


def test_a_gzip_file_that_unpacks_to_nothing_is_refused() -> None:
    assert _codes(source_of(b"", name="sales.csv.gz")) == ["file_zero_bytes"]


def test_two_sales_files_are_ambiguous() -> None:
    source = source_of(GOOD)
    both = (*source.files, LandedFile(name="sales.csv.gz", content=gzip.compress(GOOD)))
    assert _codes(replace(source, files=both)) == ["file_ambiguous"]


def test_a_sales_file_of_another_kind_is_refused() -> None:
    assert _codes(source_of(GOOD, name="sales.xlsx")) == ["file_unreadable"]


def test_a_header_alone_is_refused_where_the_manifest_says_lines() -> None:
    assert faults_of(source_of(csv_of(()))) == [(FaultCode.HEADER_ONLY, 1, None, None)]


def test_a_header_alone_is_a_day_without_trade_where_the_manifest_says_so() -> None:
    result = prepared(source_of(csv_of(()), lines=0, units=0, revenue_cents=0, stores=0))
    assert (result.rows.num_rows, result.fingerprint.checksum, result.exclusions) == (0, 0, {})


@pytest.mark.parametrize("cut", [1, 12, 40])
def test_a_gzip_stream_cut_short_is_told_from_a_corrupt_one(cut: int) -> None:
    source = source_of(GOOD, name="sales.csv.gz")
    whole = source.files[0].content
    content = whole[:-cut]
    file = LandedFile(name="sales.csv.gz", content=content)
    assert "gzip_truncated" in _codes(replace(source, files=(file,)))


def test_a_corrupt_gzip_stream_is_refused() -> None:
    source = source_of(GOOD, name="sales.csv.gz")
    content = bytearray(source.files[0].content)
    content[-6] ^= 0xFF
    file = LandedFile(name="sales.csv.gz", content=bytes(content))
    assert "gzip_corrupt" in _codes(replace(source, files=(file,)))


def test_plain_text_under_a_gzip_name_is_refused() -> None:
    source = source_of(GOOD, file="sales.csv.gz")
    file = LandedFile(name="sales.csv.gz", content=GOOD)
    assert _codes(replace(source, files=(file,))) == ["gzip_corrupt"]


def test_a_last_line_cut_in_the_middle_is_refused_at_its_line() -> None:
    assert faults_of(source_of(GOOD[:-12]))[0][:2] == (FaultCode.LAST_LINE_CUT, 5)


def test_a_last_line_cut_inside_its_last_cell_is_seen_by_the_hash() -> None:
    source = source_of(GOOD)
    file = LandedFile(name="sales.csv", content=GOOD[:-2])
    assert _codes(replace(source, files=(file,))) == ["last_line_cut", "manifest_hash"]


def test_a_last_line_without_a_line_break_is_accepted_where_the_manifest_agrees() -> None:
    assert prepared(source_of(GOOD[:-1])).totals.lines == 4


def test_text_that_is_not_utf8_is_refused_at_the_line_of_the_first_bad_byte() -> None:
    content = GOOD.replace(b",NA,", b",N\xe9,")
    fault = faults_of(source_of(content))[0]
    assert fault == (FaultCode.ENCODING_UNKNOWN, 3, None, "e9 2c 32 30")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_wide_encodings_are_refused(encoding: str) -> None:
    assert _codes(source_of(GOOD.decode().encode(encoding))) == ["encoding_unknown"]


def test_a_byte_order_mark_is_accepted() -> None:
    plain, marked = prepared(source_of(GOOD)), prepared(source_of(b"\xef\xbb\xbf" + GOOD))
    assert marked.fingerprint == plain.fingerprint


def test_a_nul_byte_is_refused_at_its_line() -> None:
    content = GOOD.replace(b",NA,", b",N\0,")
    assert faults_of(source_of(content)) == [(FaultCode.NUL_BYTE, 3, None, "00")]


@pytest.mark.parametrize(
    ("header", "code", "column"),
    [
        (HEADER.replace(",quantity", ""), "column_missing", "quantity"),
        (HEADER + ",note", "column_extra", "note"),
        (HEADER.replace("line_id", "Line_Id"), "column_extra", "Line_Id"),
        (HEADER.replace("retail_discount", "sales_value"), "column_duplicated", "sales_value"),
        (HEADER + ",", "column_extra", ""),
    ],
)
def test_columns_that_are_not_the_due_ones_are_refused(header: str, code: str, column: str) -> None:
    faults = faults_of(source_of(csv_of(LINES, header)))
    assert (FaultCode(code), 1, column, column) in faults


@pytest.mark.parametrize("content", [b"\n" + GOOD, csv_of(LINES[1:], LINES[0])])
def test_a_file_without_a_header_is_refused(content: bytes) -> None:
    assert faults_of(source_of(content))[0][:2] == (FaultCode.HEADER_MISSING, 1)


def test_another_delimiter_is_named() -> None:
    result = prepare(source_of(GOOD.replace(b",", b";")), dimensions())
    assert "is ';' the delimiter?" in result.report.summary


@pytest.mark.parametrize(
    ("content", "code", "line"),
    [
        (changed(4, "0.00,0.00", "0.00,0.00,"), "field_count", 4),
        (changed(4, "2.00", "2,00"), "field_count", 4),
        (csv_of((*LINES[:2], "", *LINES[2:])), "field_count", 4),
        (csv_of((*LINES, "")), "field_count", 6),
        (changed(4, "b2", "b\r2"), "field_count", 4),
        (changed(3, ",NA,", ',"NA,'), "quote_stray", 3),
        (changed(3, ",NA,", ',N"A,'), "quote_stray", 3),
        (changed(3, ",NA,", ',"N"A,'), "quote_stray", 3),
    ],
)
def test_a_line_whose_structure_is_broken_is_refused(content: bytes, code: str, line: int) -> None:
    assert faults_of(source_of(content))[0][:2] == (FaultCode(code), line)


def test_a_pair_of_quotes_that_swallows_lines_is_refused_where_it_begins() -> None:
    lines = [LINES[0], LINES[1].replace("2,b1", '2,"b1'), LINES[2].replace("3,b2", '3,b2"')]
    swallowed = csv_of((*lines, LINES[3]))
    faults = faults_of(source_of(swallowed))
    assert faults[0][:2] == (FaultCode.QUOTE_STRAY, 3)


def test_a_quoted_value_with_a_line_break_moves_the_physical_lines_behind_it() -> None:
    content = changed(3, "2,b1", '2,"b\n1"').replace(b"2026-03-01T21", b"2026-03-05T21")
    assert faults_of(source_of(content))[0][:3] == (FaultCode.DATE_OUTSIDE, 6, "sold_at")


def test_legal_quoting_and_carriage_returns_change_nothing() -> None:
    quoted = GOOD.replace(b"NA", b'"NA"').replace(b"\n", b"\r\n")
    assert prepared(source_of(quoted)).fingerprint == prepared(source_of(GOOD)).fingerprint


def test_a_source_without_its_manifest_is_incomplete() -> None:
    faults = faults_of(replace(source_of(GOOD), manifest=None))
    assert faults == [(FaultCode.MANIFEST_MISSING, None, None, None)]


@pytest.mark.parametrize("manifest", [b"{", b"[]", b"\xff", b"[" * 100_000, b"1" * 5000, TWICE])
def test_a_manifest_that_is_no_json_object_is_unreadable(manifest: bytes) -> None:
    assert _codes(source_of(GOOD, manifest=manifest)) == ["manifest_unreadable"]


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("schema_version", 2, "manifest_schema"),
        ("lines", "4", "manifest_schema"),
        ("exported_at", "2026-03-02T04:00:00", "manifest_schema"),
        ("date", "2026-03-02", "manifest_partition"),
        ("region", "R02", "manifest_partition"),
        ("file", "other.csv", "manifest_partition"),
        ("sha256", "00", "manifest_hash"),
        ("lines", 5, "manifest_lines"),
        ("units", 8, "manifest_units"),
        ("revenue_cents", 1126, "manifest_revenue"),
        ("stores", 3, "manifest_stores"),
    ],
)
def test_a_manifest_that_disagrees_is_refused(field: str, value: object, code: str) -> None:
    faults = faults_of(source_of(GOOD, **{field: value}))
    assert [(str(fault[0]), fault[2]) for fault in faults] == [(code, field)]


def test_a_bad_line_comes_before_the_totals_that_it_upsets() -> None:
    source = source_of(changed(2, "3.00", "3.0x"), sha256="00")
    assert _codes(source) == ["decimal_malformed", "manifest_hash"]


def test_the_version_of_the_source_is_its_export_instant_in_microseconds() -> None:
    assert prepared(source_of(GOOD)).source_version == 1_772_424_000_000_000


def test_an_unreadable_manifest_does_not_hide_the_faults_of_the_file() -> None:
    source = source_of(changed(2, "3.00", "3.0x"), manifest=json.dumps([]).encode())
    assert _codes(source) == ["decimal_malformed", "manifest_unreadable"]
